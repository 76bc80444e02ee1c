// GET /app: the whole typed description of an app, from which every interface is made: forms, command lines, clients.
//
//   { name, title, doc, hash, schema_hash, types: { Priority: {enum: [case …]}, Todo: {table: {key, fields}} … },
//     inputs: [ {name, doc, params: [ {name, type, required, min, max, doc, hints} … ], result, access, hints} … ],
//     views: [ … the same, with paged, every, live … ], errors: [ {name, status, params} … ], roles, pages, hints }
//
// A type is "int", "text" … or {"decimal": 2}, {"optional": T}, {"list": T}, {"set": T}, {"map": [K, V]}, {"enum": "Priority"},
// {"reference": "Todo"}, {"record": [ {name, type} … ]}.
//
// Owns:   nothing. Made once a module.
// Thread: any.
// Errors: out->failed.
#pragma once
#include "runtime/base/buf.h"
#include "runtime/module/module.h"

void describe_app(const Module *module, Buf *out);
// GET /: a plain page that lists views and inputs and lets a person use them.
void describe_page(const Module *module, Buf *out);
