// The overview: how well it goes, in a sentence, and what is new.
import { useEffect, useState } from 'preact/hooks';
import { address, get, send } from './api';
import { AttentionSection } from './attention';
import { Changes } from './changes';
import { Hydrograph, Minute, perMinute, WhatIf, type Bucket } from './charts';
import { ByDay } from './days';
import { ago, count, dayOf, hour, millis, percent, plural, span, tidy, tooEarly } from './format';
import { begin } from './live';
import { useAction, useLoad, useTicker } from './load';
import { may } from './me';
import { AsLines, Bars, Button, Outcome, Section, Show, useNumbers } from './parts';
import type { Settings } from './program';
import { go } from './router';
import type { Budget, Captured, Outcome as Poll, Overview as Data } from './types';

interface Flow { step: string; items: Bucket[] }

export function Overview() {
  const overview = useLoad<Data>((s) => get('/overview', {}, s), [], 5000);
  const first = overview.data;
  useEffect(() => {
    if (first) begin(first.status.last_change);
  }, [first !== undefined]);
  useEffect(() => {
    if (first && first.sources.all === 0 && may('write')) go('/start', true);
  }, [first?.sources.all === 0]);
  return (
    <>
      <h1 class="hidden-text">Overview</h1>
      <Show of={overview} bars={4}>{(o) => <Report of={o} at={overview.at} />}</Show>
      <FlowSection />
      <div class="cols turned">
        <div><Changes /></div>
        <div>
          {first && <AttentionSection items={first.attention} sources={first.sources} reload={overview.reload} />}
          <WhatIfSection early={first?.captured && tooEarly(first.captured)} />
        </div>
      </div>
    </>
  );
}

/** lastPolls is how many polls the last minute is drawn from at most. */
const lastPolls = 1000;

function Report({ of: o, at }: { of: Data; at: number }) {
  const polls = useLoad<{ items: Poll[] }>((s) => get('/outcomes', { newest: true, limit: lastPolls }, s), [], 3000);
  const now = useTicker(1000);
  const c = o.captured;
  const early = c && tooEarly(c), known = c && !early;
  return (
    <div class="cols">
      <div>
        <p class="report">
          {known ? (
            <>
              Of the changes until now, {c.saturated ? <>at most <b>{percent(c.share.high)}</b></> : <>about <b>{percent(c.share.mean)}</b> <span class="dim">({percent(c.share.low)} to {percent(c.share.high)})</span></>} were
              captured, on average <b>{span(millis(c.delay))}</b> late.
            </>
          ) : (
            <>
              {plural(o.sources.all, 'source')} {o.sources.all === 1 ? 'is' : 'are'} watched. What share of their changes is captured is <b>not known yet</b>
              {early && <span class="dim">: {early}</span>}.
            </>
          )}
        </p>
        {known && <Readings of={c} />}
        {at > 0 && now - at > 60_000 && <p class="small" role="status"><span class="mark noisy" /> as of {ago(new Date(at).toISOString(), now)}</p>}
      </div>
      <div>
        <div class="row">
          <b class="grow">The last minute</b>
          <span class="dim">{o.spending ? `${count(o.spending.used)} of ${count(o.spending.most)} requests` : ''}</span>
        </div>
        {polls.data ? <Minute outcomes={polls.data.items} cut={polls.data.items.length >= lastPolls} most={o.spending?.most ?? 60} now={now} /> : <Bars n={2} />}
      </div>
    </div>
  );
}

function Readings({ of: c }: { of: Captured }) {
  return (
    <dl class="readings">
      <div><dt>changes missed</dt><dd class="serif">{count(c.missed.mean)} <small>{count(c.missed.low)} to {count(c.missed.high)}</small></dd></div>
      <div><dt>changes not seen yet</dt><dd class="serif">{count(c.waiting)}</dd></div>
      <div><dt>of copies up to date</dt><dd class="serif">{percent(c.freshness)}</dd></div>
      <div><dt>of polls found a change</dt><dd>{c.polls > 0 ? percent(Math.min(1, c.captured / c.polls)) : '–'}</dd></div>
    </dl>
  );
}

function FlowSection() {
  const flow = useLoad<Flow>((s) => get('/flow', { hours: 24 }, s), [], 60_000);
  const rows = () => (flow.data?.items ?? []).map((b) => [`${dayOf(b.at)} ${hour(b.at)}`, b.changes, b.missed.toFixed(1), b.polls, b.failed]);
  const [toggle, table] = useNumbers(['From', 'Changes', 'Likely missed', 'Polls', 'Failed'], rows);
  const [days, show] = useState(false);
  return (
    <>
      <Section title="The last 24 hours" note="changes every ten minutes; solid: captured, hatched: estimated" side={<span class="row"><Button local kind="ghost" pressed={days} onClick={() => show(!days)}>By day</Button>{toggle}</span>}>
        <Show of={flow} bars={5}>{(f) => <Hydrograph buckets={known(f.items)} hatch="h-flow" />}</Show>
        {table}
      </Section>
      {days && <ByDay />}
    </>
  );
}

/** known leaves out the time before the first poll, but for an hour. */
function known(items: Bucket[]): Bucket[] {
  const first = items.findIndex((b) => b.polls > 0);
  return items.slice(Math.max(0, Math.min(first < 0 ? items.length : first, items.length - 12)));
}

function WhatIfSection({ early }: { early?: string }) {
  const budget = useLoad<Budget>((s) => get('/budget', { points: 41 }, s), [], 60_000);
  const rows = () => (budget.data?.curve ?? []).map((p) => [perMinute(p.polls_per_day), percent(p.share.mean), `${percent(p.share.low)} to ${percent(p.share.high)}`, span(millis(p.delay)), percent(p.freshness)]);
  const [toggle, table] = useNumbers(['Budget', 'Captured', 'Range', 'Late', 'Up to date'], rows);
  const unknown = early || budget.data?.too_early;
  return (
    <Section title="What another budget would bring" side={!unknown && toggle}>
      <Show of={budget}>{(b) => (unknown ? <p class="empty">Not known yet: {unknown}.</p> : b.curve.length < 2 ? <p class="empty">Nothing to show yet.</p> : <Slider of={b} reload={budget.reload} />)}</Show>
      {!unknown && table}
    </Section>
  );
}

function Slider({ of: b, reload }: { of: Budget; reload: () => void }) {
  const middle = b.curve.reduce((best, p, i) => (Math.abs(Math.log(p.polls_per_day / b.now.polls_per_day)) < Math.abs(Math.log(b.curve[best].polls_per_day / b.now.polls_per_day)) ? i : best), 0);
  const [at, set] = useState(middle);
  const p = at === middle ? b.now : b.curve[at];
  const asked = perMinute(p.polls_per_day);
  const points = Math.round((p.share.mean - b.now.share.mean) * 100);
  return (
    <div class="panel stack">
      <p class="say">
        Forecast: {at === middle ? <>at <b>{b.budget}</b>, as it is, </> : <>at <b>{asked}</b>, {times(p.polls_per_day / b.now.polls_per_day)}, </>}
        about <b>{percent(p.share.mean)}</b> {at === middle ? 'are' : 'would be'} captured, <b>{span(millis(p.delay))}</b> late on average.
        {at !== middle && <> That is {points >= 0 ? '+' : '−'}{Math.abs(points)} points.</>}
      </p>
      <WhatIf curve={b.curve} now={b.now} at={p} hatch="h-whatif" />
      <label>
        <span class="hidden-text">Budget</span>
        <input type="range" min={0} max={b.curve.length - 1} value={at} aria-valuetext={`${asked}: ${percent(p.share.mean)}`} onInput={(e) => set(Number(e.currentTarget.value))} />
      </label>
      <SetBudget to={asked} shown={at !== middle} reload={reload} />
    </div>
  );
}

/** SetBudget takes on what the slider is at, or says where the budget is set. */
function SetBudget({ to, shown, reload }: { to: string; shown: boolean; reload: () => void }) {
  const settings = useLoad<Settings>((s) => get('/settings', {}, s), []);
  const [doing, run] = useAction();
  const now = settings.data?.items.find((i) => i.key === 'budget');
  const edit = { set: { budget: to } };
  return (
    <>
      {shown && now?.fixed && <div class="as"><pre>budget: {to}</pre><p class="small dim">The budget is set by {tidy(now.where ?? now.from)}; change it there.</p></div>}
      {shown && now && !now.fixed && (
        <div class="row wrap">
          <Button needs="admin" kind="main" busy={doing.busy} onClick={() => run(async () => {
            settings.set(await send<Settings>('PATCH', '/settings', edit));
            reload();
            return `The budget is ${to} from now on.`;
          })}>Set the budget</Button>
          <AsLines needs="admin" method="PATCH" url={address('/settings')} body={edit} cli={`freshet settings budget=${to}`} />
        </div>
      )}
      <Outcome of={doing} />
    </>
  );
}

function times(factor: number): string {
  if (factor >= 1) return `${factor < 3 ? factor.toFixed(1) : Math.round(factor)} times as much`;
  return `1/${1 / factor < 3 ? (1 / factor).toFixed(1) : Math.round(1 / factor)} of it`;
}
