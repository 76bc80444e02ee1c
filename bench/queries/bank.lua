-- The bank's queries over tables of records, for LuaJIT: what a quick dynamic language makes of them. usage: luajit bank.lua ROUNDS
local BRANCHES, REGIONS, ACCOUNTS, LOOKUPS = 100, 10, 100000, 1000
local LARGE_CENTS, LARGE_MAX, RANKS = 9000000, 100, 20
local rounds = tonumber(arg[1])

local seed = 12345
local function random(bound)
  seed = (seed * 16807) % 2147483647
  return seed % bound
end

local branches, accounts, by_id, by_branch = {}, {}, {}, {}
for i = 0, BRANCHES - 1 do branches[i] = { id = i, region = i % REGIONS }; by_branch[i] = {} end
for i = 1, ACCOUNTS do
  local branch = random(BRANCHES)
  local account = { id = i - 1, branch = branch, balance = random(20000000) - 10000000 }
  accounts[i], by_id[i - 1] = account, account
  table.insert(by_branch[branch], account)
end

local function checker()
  local sum, count = 0, 0
  return function(number) sum = sum + number * (count % 7 + 1); count = count + 1; return sum end
end

-- The greatest, in order; equal ones as they came.
local function top(most, least)
  local best, count = {}, 0
  for i = 1, ACCOUNTS do
    local account = accounts[i]
    local balance = account.balance
    if balance >= least and (count < most or balance > best[count].balance) then
      if count < most then count = count + 1 end
      local at = count
      while at > 1 and best[at - 1].balance < balance do best[at] = best[at - 1]; at = at - 1 end
      best[at] = account
    end
  end
  return best, count
end

local queries = {
  { "per_branch", 1, function()
    local sums = {}
    for i = 0, BRANCHES - 1 do sums[i] = { 0, 0, -1e18 } end
    for i = 1, ACCOUNTS do
      local account = accounts[i]
      local sum, balance = sums[account.branch], account.balance
      sum[1], sum[2] = sum[1] + 1, sum[2] + balance
      if balance > sum[3] then sum[3] = balance end
    end
    local check, result = checker()
    for i = 0, BRANCHES - 1 do check(i); check(sums[i][1]); check(sums[i][2]); result = check(sums[i][3]) end
    return result
  end },
  { "in_credit", 1, function()
    local count = 0
    for i = 1, ACCOUNTS do if accounts[i].balance > 0 then count = count + 1 end end
    return count
  end },
  { "large", 1, function()
    local best, count = top(LARGE_MAX, LARGE_CENTS)
    local check, result = checker()
    for i = 1, count do check(best[i].id); check(best[i].branch); result = check(best[i].balance) end
    return result
  end },
  { "ranks", 1, function()
    local best, count = top(RANKS, -1e18)
    local check, result = checker()
    for i = 1, count do check(best[i].id); result = check(best[i].balance) end
    return result
  end },
  { "join", 1, function()
    local sums = {}
    for i = 0, REGIONS - 1 do sums[i] = 0 end
    for i = 1, ACCOUNTS do
      local account = accounts[i]
      local region = branches[account.branch].region
      sums[region] = sums[region] + account.balance
    end
    local check, result = checker()
    for i = 0, REGIONS - 1 do check(i); result = check(sums[i]) end
    return result
  end },
  { "of_branch", BRANCHES, function()
    local all = 0
    for i = 0, BRANCHES - 1 do
      local sum, of = 0, by_branch[i]
      for k = 1, #of do sum = sum + of[k].balance end
      all = all + sum
    end
    return all
  end },
  { "lookup", LOOKUPS, function()
    local sum = 0
    for i = 0, LOOKUPS - 1 do sum = sum + by_id[(i * 7919) % ACCOUNTS].balance end
    return sum
  end },
}

collectgarbage()
for _, query in ipairs(queries) do
  local name, operations, work = query[1], query[2], query[3]
  local result, times = nil, {}
  for _ = 1, 3 do result = work() end  -- until it is compiled
  for i = 1, rounds do
    -- os.clock counts microseconds, so a look-up is repeated until that does not matter.
    local repeats = operations > 1 and 20 or 1
    local start = os.clock()
    for _ = 1, repeats do result = work() end
    times[i] = string.format("%.2f", (os.clock() - start) * 1e9 / operations / repeats)
  end
  print(string.format('{"name":"%s","ns":[%s],"result":%.0f}', name, table.concat(times, ","), result))
end
