-- Computes the health of a CollectorFleet for Argo CD, as kstatus computes it for Flux and Helm 4.
-- Argo CD's Lua has neither require nor the string library. Conditions have no fixed order.
local health = {status = "Progressing", message = "the operator has not seen this generation of the fleet yet"}
local status = obj.status
if status == nil or status.conditions == nil or status.observedGeneration ~= obj.metadata.generation then
  return health
end

local found = {}
for _, condition in ipairs(status.conditions) do
  found[condition.type] = condition
end

local function is_true(name)
  return found[name] ~= nil and found[name].status == "True"
end

if is_true("Reconciling") then
  health.message = found.Reconciling.message
elseif is_true("Stalled") then
  health.status, health.message = "Degraded", found.Stalled.message
elseif is_true("Suspended") then
  health.status, health.message = "Suspended", found.Suspended.message
elseif is_true("Ready") then
  health.status, health.message = "Healthy", found.Ready.message
  -- A changed spec that waits changes only the message.
  if found.UpToDate ~= nil and found.UpToDate.status == "False" then
    health.message = found.UpToDate.message
  end
elseif found.Ready ~= nil then
  health.message = found.Ready.message
end
return health
