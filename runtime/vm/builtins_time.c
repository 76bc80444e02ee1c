// Calendar and clock: base's calendar with the app's zone, whose transitions stand in the module.
#include "runtime/base/calendar_text.h"
#include "runtime/vm/machine.h"

static const Zone *zone_of(const BuiltinCall *call) { return &call->exec->module->zone; }
static HostResult finish(const BuiltinCall *call, NumFault fault) { return vm__num_fault(call->exec, fault); }

HostResult builtin__DATE_OF(const BuiltinCall *call) { return finish(call, zone_date_of(zone_of(call), call->args[0].i, &call->out->i)); }
HostResult builtin__TIME_OF(const BuiltinCall *call) { return finish(call, zone_time_of(zone_of(call), call->args[0].i, call->args[1].i, &call->out->i)); }
HostResult builtin__START_OF_DATE(const BuiltinCall *call) { return finish(call, zone_time_of(zone_of(call), call->args[0].i, 0, &call->out->i)); }
// Zones can skip the midnight between two days, so this is the next day's start and not a duration later.
HostResult builtin__END_OF_DATE(const BuiltinCall *call) {
  int64_t next;
  NumFault fault = date_add(call->args[0].i, DAY, &next);
  return finish(call, fault == NUM_OK ? zone_time_of(zone_of(call), next, 0, &call->out->i) : fault);
}
HostResult builtin__FLOOR_TIME(const BuiltinCall *call) { return finish(call, time_floor(call->args[0].i, call->args[1].i, &call->out->i)); }

HostResult builtin__WEEKDAY(const BuiltinCall *call) {
  call->out->i = date_weekday(call->args[0].i);
  return HOST_OK;
}
HostResult builtin__YEAR(const BuiltinCall *call) {
  call->out->i = date_civil(call->args[0].i).year;
  return HOST_OK;
}
HostResult builtin__MONTH(const BuiltinCall *call) {
  call->out->i = date_civil(call->args[0].i).month;
  return HOST_OK;
}
HostResult builtin__DAY(const BuiltinCall *call) {
  call->out->i = date_civil(call->args[0].i).day;
  return HOST_OK;
}

// The part of a local day that a step of `unit` counts, below `count`.
static HostResult clock_part(const BuiltinCall *call, int64_t unit, int64_t count) {
  int64_t local, steps, part;
  NumFault fault = zone_local(zone_of(call), call->args[0].i, &local);
  if (fault == NUM_OK) fault = int_div_floor(local, unit, &steps);
  if (fault == NUM_OK) fault = int_mod_floor(steps, count, &part);
  if (fault == NUM_OK) call->out->i = part;
  return finish(call, fault);
}

HostResult builtin__HOUR(const BuiltinCall *call) { return clock_part(call, HOUR, 24); }
HostResult builtin__MINUTE(const BuiltinCall *call) { return clock_part(call, MINUTE, 60); }
HostResult builtin__ADD_MONTHS(const BuiltinCall *call) { return finish(call, date_add_months(call->args[0].i, call->args[1].i, &call->out->i)); }

HostResult builtin__FORMAT_TIME(const BuiltinCall *call) {
  HostResult result = vm__charge(call->exec, call->args[1].text.len);
  if (result != HOST_OK) return result;
  time_format_pattern(zone_of(call), call->args[0].i, call->args[1].text, vm__scratch(call->exec));
  return vm__take_scratch(call->exec, call->out);
}

HostResult builtin__AGE(const BuiltinCall *call) {
  call->out->i = date_age(call->args[0].i, call->args[1].i);
  return HOST_OK;
}
