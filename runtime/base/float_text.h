// Floats as text: the fewest digits that read back as the same double, laid out as JavaScript does: plain from 1e-7 up to
// 1e21 (0.1, 100, 1234.5), with an exponent beyond (1e+21, 1.5e-9). All of them are JSON numbers.
//
// Owns:   nothing.
// Thread: any.
//
// On snprintf and strtod, which round correctly, rather than an own Ryū with its tables: about 0.5 µs a number.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/err.h"
#include "runtime/base/str.h"

enum { FLOAT_TEXT_BYTES = 32 };

// Of a finite number. Returns the length; a zero byte follows.
size_t float_format(double number, char out_text[FLOAT_TEXT_BYTES]);
