-- Ranks that become later and later: the slope of a straight line through what others wait for them, where it fits well.
with lines as (
  select
    rank,
    min(step) as first_step,
    max(step) as last_step,
    avg(ms) as step_ms,
    regr_slope(late_ms, step) as slope_ms,
    corr(late_ms, step) as fit
  from step_rows
  where late_ms is not null
  group by rank
  having count(*) >= 16 and max(step) > min(step)
)
select
  rank,
  1000 * slope_ms as ms_per_1000_steps,
  slope_ms * (last_step - first_step) as grown_ms,
  fit
from lines
where fit > 0.9 and slope_ms * (last_step - first_step) > 0.01 * step_ms
order by round(grown_ms, 6) desc, rank
limit 20
