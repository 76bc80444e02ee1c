#!/usr/bin/python3
"""Writes realistic source text of a given size: an app (aup), or C or JavaScript of the same number of bytes.

usage: generate.py aup LINES | c BYTES | js BYTES        (to standard output; the same text every time)
The app is blocks of one table with its enum, indexes, views, inputs and test, as a person would write a large system;
a table refers to the one of the block before. Names, limits and the shape of bodies vary with the block's number.
"""
import sys

NOUNS = ("Invoice", "Parcel", "Customer", "Booking", "Ticket", "Asset", "Payment", "Shipment", "Contract", "Product", "Supplier", "Claim", "Visit",
         "Machine", "Lesson", "Recipe", "Sensor", "Meeting", "Permit", "Vehicle")
FIELDS = (("weight", "int = 1"), ("price", "decimal(2) = 0.00"), ("city", 'text = "" max 80'), ("approved", "bool = false"), ("starts", "date?"),
          ("rating", "int = 0"), ("discount", "decimal(2) = 0.00"), ("remark", 'text = "" max 400'), ("urgent", "bool = false"), ("level", "int = 1"))


def given(code, coded):
    return f'code: "{code}", ' if coded else ""


def block(number):
    noun = NOUNS[number % len(NOUNS)]
    name = f"{noun}{number}"
    low = name.lower()
    previous = f"{NOUNS[(number - 1) % len(NOUNS)]}{number - 1}"
    chosen = [FIELDS[(number * 3 + i * 7) % len(FIELDS)] for i in range(3 + number % 4)]
    fields = list(dict(chosen).items())
    state = f"{name}State"
    coded = number % 3 == 2  # a key of its own instead of a number the host gives
    key, code, slot = ("code", "code: text min 1 max 20, ", " as {code}") if coded else ("id", "", "")
    lines = [
        f"// ---- {noun.lower()}s of part {number} ----",
        "",
        f"enum {state} {{ draft, active, waiting, closed }}",
        "",
        f"/// A {noun.lower()} and what becomes of it.",
        f"table {name} {{",
        "  code: text key min 1 max 20" if coded else "  id: int key auto",
        "  title: text min 1 max 200",
        f"  state: {state} = {state}.draft",
        "  amount: decimal(2) = 0.00",
        "  quantity: int = 1",
        "  created: time = now",
        *([f"  parent: {previous}? on delete clear"] if number else []),
        *[f"  {field}: {kind}" for field, kind in fields],
        "",
        "  index state, amount desc",
        *(["  index parent"] if number else []),
        "}",
        "",
        f"view {low}_open(least: decimal(2) = 0.00) =",
        f"  from x in {name}",
        f"  where x.state == {state}.active and x.amount >= least",
        f"  order by x.amount desc, x.{key}",
        f"  take {20 + number % 5 * 10}",
        f"  select {{ x.{key}, x.title, x.amount, x.quantity }}",
        "",
        f"view {low}_totals =",
        f"  from x in {name}",
        "  group by state = x.state",
        "  select { state, n: count(x), total: sum(x.amount) }",
        "",
        f"input add_{low}({code}title: text min 1 max 200, amount: decimal(2) min 0.00 = 0.00, quantity: int min 1 max {100 + number} = 1) -> {name}",
        f'  @say("add {{title}} to the {low}s{slot}", "a new {low} {{title}}{slot} of {{amount}}")',
        "{",
        f"  let row = insert {name} {{ {'code, ' if coded else ''}title, amount, quantity }}",
        f"  if amount > {1000 + number}.00 {{",
        f"    row.state = {state}.active",
        "  } else if quantity > 10 {",
        f"    row.state = {state}.waiting",
        "  }",
        "  return row",
        "}",
        "",
        f"input change_{low}(row: {name}, amount: decimal(2) min 0.00, quantity: int min 1 max 1000) {{",
        f'  require row.state != {state}.closed else "This {noun.lower()} is closed."',
        f"  let open = count(from x in {name} where x.state == {state}.active)",
        f'  if open > {50 + number % 7} {{ reject "Too many are open: {{open}}." }}',
        "  var total = 0",
        "  for step in 1..quantity {",
        "    total += step * 2 - 1",
        "  }",
        "  row.amount = amount + 0.50",
        "  row.quantity = total",
        *[f"  row.{field} = not row.{field}" for field, kind in fields if kind.startswith("bool")],
        "}",
        "",
        f"input close_{low}(row: {name}) @confirm(\"Close it?\") {{",
        f"  row.state = {state}.closed",
        "}",
        "",
        f'test "{noun.lower()}s of part {number}" {{',
        f'  let first = add_{low}({given("a", coded)}title: "First", amount: {2000 + number}.00)',
        f'  let second = add_{low}({given("b", coded)}title: "Second", quantity: 3)',
        f"  expect count({low}_open()) == 1",
        f"  change_{low}(row: second, amount: 12.50, quantity: 4)",
        f"  close_{low}(row: first)",
        f"  expect reject change_{low}(row: first, amount: 1.00, quantity: 1)",
        f'  expect reject add_{low}({given("c", coded)}title: "")',
        "}",
        "",
    ]
    return lines


def aup(line_count):
    lines, number = ['app large "A large system"', ""], 0
    while len(lines) < line_count:
        lines += block(number)
        number += 1
    return "\n".join(lines) + "\n"


C_BLOCK = """// A {low} and what becomes of it.
enum {low}_state {{ {up}_DRAFT, {up}_ACTIVE, {up}_WAITING, {up}_CLOSED }};
struct {low} {{
  long id;
  char title[200];
  enum {low}_state state;
  long amount, quantity, created;
  struct {low} *parent;
}};

static struct {low} {low}_rows[100];
static int {low}_count;

long {low}_total(enum {low}_state state) {{
  long total = 0;
  for (int i = 0; i < {low}_count; i++) {{
    if ({low}_rows[i].state == state && {low}_rows[i].amount >= {number}) total += {low}_rows[i].amount;
  }}
  return total;
}}

int {low}_add(const char *title, long amount, long quantity) {{
  if (!title[0] || {low}_count == 100) return -1;
  struct {low} *row = &{low}_rows[{low}_count++];
  for (int i = 0; i < 199 && title[i]; i++) row->title[i] = title[i];
  row->amount = amount;
  row->quantity = quantity;
  row->state = amount > 1000 ? {up}_ACTIVE : quantity > 10 ? {up}_WAITING : {up}_DRAFT;
  return {low}_count - 1;
}}

int {low}_change(int at, long amount, long quantity) {{
  struct {low} *row = &{low}_rows[at];
  if (row->state == {up}_CLOSED) return -1;
  long total = 0;
  for (long step = 1; step <= quantity; step++) total += step * 2 - 1;
  row->amount = amount + 50;
  row->quantity = total;
  return 0;
}}

"""
JS_BLOCK = """// A {low} and what becomes of it.
const {low}State = {{ draft: 0, active: 1, waiting: 2, closed: 3 }};
class {name} {{
  constructor(title, amount, quantity) {{
    this.title = title;
    this.amount = amount;
    this.quantity = quantity;
    this.created = Date.now();
    this.state = amount > {number} ? {low}State.active : quantity > 10 ? {low}State.waiting : {low}State.draft;
  }}
}}
const {low}Rows = [];

function {low}Total(state) {{
  let total = 0;
  for (const row of {low}Rows) {{
    if (row.state === state && row.amount >= {number}) total += row.amount;
  }}
  return total;
}}

function {low}Add({{ title, amount = 0, quantity = 1 }}) {{
  if (!title || title.length > 200) throw new Error(`A title has 1 to 200 letters, not ${{title.length}}.`);
  const row = new {name}(title, amount, quantity);
  {low}Rows.push(row);
  return row;
}}

function {low}Change(row, amount, quantity) {{
  if (row.state === {low}State.closed) throw new Error("This {low} is closed.");
  let total = 0;
  for (let step = 1; step <= quantity; step++) total += step * 2 - 1;
  row.amount = amount + 0.5;
  row.quantity = total;
}}

"""


def repeat(template, byte_count):
    parts, size, number = [], 0, 0
    while size < byte_count:
        name = f"{NOUNS[number % len(NOUNS)]}{number}"
        parts.append(template.format(name=name, low=name.lower(), up=name.upper(), number=number))
        size += len(parts[-1])
        number += 1
    return "".join(parts)


def text(kind, size):
    return aup(size) if kind == "aup" else repeat(C_BLOCK if kind == "c" else JS_BLOCK, size)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("aup", "c", "js"):
        sys.exit(__doc__)
    sys.stdout.write(text(sys.argv[1], int(sys.argv[2])))
