-- What the ranks lose their own time by, over the whole job. Waiting for another rank is no cause: it sits there.
with whole as (
  select sum(ms) as ms from rank_totals
)
select
  cause,
  sum(rank_causes.ms) / 3600000 as gpu_hours,
  100 * sum(rank_causes.ms) / max(whole.ms) as share_pct,
  sum(rank_causes.ms) / sum(rank_causes.steps) as ms_per_step
from rank_causes cross join whole
group by cause
having sum(rank_causes.ms) > 0
order by gpu_hours desc, cause
