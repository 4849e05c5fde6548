-- Steps that last longer than one and a half times the usual, and whether they come back after so many steps.
with lengths as (
  select step, max(ms) as ms from step_rows group by step
),
usual as (
  select median(ms) as ms from lengths
),
stalls as (
  select l.step, l.ms - u.ms as beyond_ms, l.step - lag(l.step) over (order by l.step) as gap_steps
  from lengths l cross join usual u
  where l.ms > 1.5 * u.ms
),
gaps as (
  select gap_steps, count(*) as times, row_number() over (order by count(*) desc, gap_steps) as place
  from stalls where gap_steps is not null group by gap_steps
),
counted as (
  select count(*) as stalls, count(gap_steps) as gaps, min(step) as first_step, max(step) as last_step,
         avg(beyond_ms) as beyond_ms
  from stalls
)
select
  c.stalls,
  c.first_step,
  c.last_step,
  c.beyond_ms,
  case when c.gaps >= 3 and g.times >= 0.6 * c.gaps then g.gap_steps end as every_steps
from counted c left join gaps g on g.place = 1
where c.stalls > 0
