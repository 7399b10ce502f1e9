// The lab: what other policies and budgets would have made of what was recorded.
import { useEffect, useState } from 'preact/hooks';
import { address, get, part, send } from './api';
import { brief, count, dayOf, millis, percent, plural, span, tidy } from './format';
import { Curves, measures, nearest, perDay, Swatch, type Measure } from './labchart';
import { useAction, useLoad } from './load';
import { AsLines, Button, Field, Outcome, Section, Show, Time, Trouble, useNumbers } from './parts';
import { choose, go, here } from './router';
import { Problem } from './api';
import type { Lab as About, LabRequest, LabResult, LabRun } from './types';

const over = (r: LabRun) => r.state !== 'waiting' && r.state !== 'running';

export function Lab({ run: id }: { run: string }) {
  const about = useLoad<About>((s) => get('/lab', {}, s), []);
  const [going, set] = useState(false);
  const runs = useLoad<{ items: LabRun[] }>((s) => get('/lab/runs', {}, s), ['runs', id], going ? 1000 : 0);
  const run = useLoad<LabRun | null>((s) => (id ? get('/lab/runs/' + part(id), {}, s) : Promise.resolve(null)), ['run', id], going ? 1000 : 0);
  useEffect(() => set(!!run.data && !over(run.data)), [run.data]);
  return (
    <>
      <h1 class="title">Lab</h1>
      <p class="say lead">Replay your own history with other polling policies and budgets. Nothing is fetched.</p>
      <div class={`side ${id ? 'shown' : ''}`}>
        <div>
          <Show of={about} bars={8}>{(a) => <Form key={id} about={a} from={run.data?.request} />}</Show>
          <Section title="Runs" note={runs.data?.items.length ? undefined : 'none yet'}>
            <Show of={runs}>{(l) => (
              <div class="pick">
                {l.items.map((r) => (
                  <a key={r.id} href={'/lab/' + part(r.id)} aria-current={r.id === id ? 'true' : undefined}>
                    <b class="one"><bdi>{tidy(r.request.policies.join(', '))}</bdi></b>
                    <span class="small dim">{word(r)}, <Time at={r.asked_at} as="ago" />{r.request.tag ? <>, <bdi>{tidy(r.request.tag)}</bdi></> : ''}</span>
                  </a>
                ))}
              </div>
            )}</Show>
            <p class="small dim">{about.data && `The last ${about.data.limits.kept} are kept, until Freshet stops.`}</p>
          </Section>
        </div>
        <div>
          {id === '' ? <Nothing /> : <Show of={run} bars={8}>{(r) => r && (over(r) ? <Ended run={r} reload={() => { run.reload(); runs.reload(); }} /> : <Going run={r} reload={run.reload} />)}</Show>}
        </div>
      </div>
    </>
  );
}

function word(r: LabRun): string {
  if (r.state === 'waiting') return r.ahead ? `waits for ${plural(r.ahead, 'other')}` : 'waits';
  if (r.state === 'running') return `${r.doing || 'begins'}, ${percent(r.progress)}`;
  return r.state;
}

function Nothing() {
  return (
    <>
      <Section title="What a run shows">
        <p class="say">Choose policies and budgets, then replay. For each budget you see the share of changes that each policy would have captured, how fresh its copies would have been, and the best that was possible.</p>
      </Section>
      <Section title="Reports">
        <ul class="plain"><li><a href="/docs/explanation/papers.html" data-away>The papers behind Freshet</a></li><li><a href="/docs/explanation/results.html" data-away>Policies on recorded histories</a></li></ul>
      </Section>
    </>
  );
}

const list = (text: string) => text.split(/[,\s]+/).filter(Boolean);

function Form({ about, from }: { about: About; from?: LabRequest }) {
  const [policies, pick] = useState<string[]>(from?.policies ?? ['auto', 'uniform', 'frequency']);
  const [budgets, type] = useState(from?.budgets?.join(', ') ?? '');
  const [tag, name] = useState(from?.tag ?? here.value.query.get('tag') ?? '');
  const [since, begin] = useState(from?.since ?? '');
  const [until, finish] = useState(from?.until ?? '');
  const [seen, only] = useState(from?.seen_only ?? false);
  const [all, more] = useState(false);
  const [doing, act] = useAction();
  useEffect(() => {
    if (!from) return; // what somebody else asked for is where to go on from
    pick(from.policies);
    type(from.budgets?.join(', ') ?? '');
    name(from.tag ?? '');
    begin(from.since ?? '');
    finish(from.until ?? '');
    only(from.seen_only ?? false);
  }, [JSON.stringify(from)]);
  const body: LabRequest = {
    policies, ...(budgets.trim() && { budgets: list(budgets) }), ...(tag.trim() && { tag: tag.trim() }),
    ...(since.trim() && { since: since.trim() }), ...(until.trim() && { until: until.trim() }), ...(seen && { seen_only: true }),
  };
  const offered = about.policies.filter((p) => all || policies.includes(p.name) || (!p.experimental && !p.name.startsWith('sample-')));
  const start = () => act(async () => {
    const run = await send<LabRun>('POST', '/lab/runs', body);
    go('/lab/' + part(run.id));
  });
  const wrong = (field: string) => doing.problem?.at('body.' + field);
  const flag = (key: string, value: string) => (value.trim() ? ` --${key} ${quoted(value.trim())}` : '');
  const line = `freshet lab run --policies ${quoted(policies.join(','))}${flag('budgets', list(budgets).join(','))}${flag('tag', tag)}${flag('since', since)}${flag('until', until)}${seen ? ' --seen-only' : ''}`;
  return (
    <>
      <Section title="Policies" note={`${policies.length} chosen, at most ${about.limits.policies}`} side={<Button local kind="ghost" pressed={all} onClick={() => more(!all)}>All</Button>}>
        <ul class="policies">
          {offered.map((p) => (
            <li key={p.name}>
              <label>
                <input type="checkbox" checked={policies.includes(p.name)} disabled={!policies.includes(p.name) && policies.length >= about.limits.policies} onChange={(e) => pick(e.currentTarget.checked ? [...policies, p.name] : policies.filter((n) => n !== p.name))} />
                <span><b>{p.name}</b><span class="small dim">{p.about}</span></span>
              </label>
            </li>
          ))}
        </ul>
        {wrong('policies') && <p class="wrong" role="alert">{tidy(wrong('policies')!)}</p>}
      </Section>
      <Section title="Budgets and history">
        <div class="stack">
          <Field label="Budgets" help="such as 10/m, 60/m; empty: a quarter to four times what was spent" wrong={wrong('budgets')}><input class="input" value={budgets} onInput={(e) => type(e.currentTarget.value)} /></Field>
          <Field label="Only sources with the tag" wrong={wrong('tag')}><input class="input" value={tag} onInput={(e) => name(e.currentTarget.value)} /></Field>
          <div class="two">
            <Field label="From" help="a date, or 14d" wrong={wrong('since')}><input class="input" value={since} placeholder="all" onInput={(e) => begin(e.currentTarget.value)} /></Field>
            <Field label="Until" wrong={wrong('until')}><input class="input" value={until} placeholder="now" onInput={(e) => finish(e.currentTarget.value)} /></Field>
          </div>
          <label class="row"><input type="checkbox" checked={!seen} onChange={(e) => only(!e.currentTarget.checked)} /> Add what polls are likely to have missed</label>
        </div>
      </Section>
      <div class="row wrap section">
        <Button kind="main" icon="play" busy={doing.busy} disabled={policies.length === 0} onClick={start}>Replay</Button>
        <AsLines method="POST" url={address('/lab/runs')} body={body} cli={line} />
      </div>
      <Outcome of={doing} />
    </>
  );
}

const quoted = (text: string) => (/^[\w:=.,/%-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'");

function Going({ run, reload }: { run: LabRun; reload: () => void }) {
  const [doing, act] = useAction();
  return (
    <Section title={run.state === 'waiting' ? 'Waiting' : run.doing === 'reading' ? 'Reading the log' : 'Replaying'} note="It goes on when you leave this page.">
      <p class="row"><progress class="grow" max={1} value={run.progress} aria-label="Progress of the run" /> <span class="num">{percent(run.progress)}</span></p>
      <p class="say" role="status">{word(run)}</p>
      <div class="row wrap">
        <Button kind="ghost" danger busy={doing.busy} onClick={() => act(async () => { await send('DELETE', '/lab/runs/' + part(run.id)); reload(); })}>Cancel</Button>
        <AsLines method="DELETE" url={address('/lab/runs/' + part(run.id))} cli={`freshet lab cancel ${run.id}`} />
      </div>
      <Outcome of={doing} />
    </Section>
  );
}

function Ended({ run, reload }: { run: LabRun; reload: () => void }) {
  const [doing, act] = useAction();
  const forget = () => act(async () => {
    await send('DELETE', '/lab/runs/' + part(run.id));
    go('/lab');
    reload();
  });
  return (
    <>
      {run.state === 'failed' && <Trouble problem={new Problem(run.error ?? 'It failed.', 0, run.hint)} />}
      {run.state === 'cancelled' && <p class="say">This run was cancelled.</p>}
      {run.result && <Result of={run.result} only={run.request.seen_only ?? false} />}
      <div class="row wrap section">
        <Button kind="ghost" icon="trash" busy={doing.busy} onClick={forget}>Remove this run</Button>
        <AsLines method="DELETE" url={address('/lab/runs/' + part(run.id))} cli={`freshet lab cancel ${run.id}`} />
      </div>
      <Outcome of={doing} />
    </>
  );
}

function Result({ of: r, only }: { of: LabResult; only: boolean }) {
  const asked = here.value.query.get('show') as Measure | null;
  const shown: Measure[] = r.weighed ? ['recall', 'worth', 'freshness', 'age'] : ['recall', 'freshness', 'age'];
  const measure = asked && shown.includes(asked) ? asked : 'recall';
  const wanted = r.budgets.findIndex((b) => b.budget === here.value.query.get('at'));
  const at = wanted >= 0 ? wanted : nearest(r.budgets, perDay(r.spent) || r.budgets[0].polls_per_day);
  const row = r.budgets[at];
  const [toggle, table] = useNumbers(['Budget', 'Policy', 'Captured', 'Worth', 'Of what was possible', 'Fresh', 'Age', 'Late', 'Polls'], () => r.budgets.flatMap((b) => [
    [b.budget, 'limit', '', (b.limit_exact ? '' : '≤ ') + percent(b.limit), '', '', '', '', ''],
    ...b.trials.map((t) => [b.budget, t.policy, percent(t.recall), percent(t.worth), percent(t.of_limit), percent(t.freshness), span(millis(t.age)), span(millis(t.delay)), count(t.polls)]),
  ]));
  return (
    <>
      <Section title={`${measures[measure].word}, by budget`} note={`${dayOf(r.from)} to ${dayOf(r.to)}, ${plural(r.sources, 'source')}, ${plural(r.changes + r.added, 'change')} of which ${count(r.changes)} were seen`} side={toggle}>
        <div class="segment" role="group" aria-label="Measure">{shown.map((m) => <button key={m} type="button" aria-pressed={m === measure} onClick={() => choose({ show: m === 'recall' ? '' : m })}>{measures[m].word}</button>)}</div>
        <div class="panel curves"><Curves of={r} measure={measure} /></div>
        {table}
      </Section>
      <Section title={`At ${row.budget}`} note={`what was possible: ${row.limit_exact ? '' : 'at most '}${percent(row.limit)}`}>
        <div class="segment" role="group" aria-label="Budget">{r.budgets.map((b) => <button key={b.budget} type="button" aria-pressed={b === row} onClick={() => choose({ at: b.budget })}>{b.budget}</button>)}</div>
        <div class="scroll policies-table" tabIndex={0} role="region" aria-label="Policies at this budget">
          <table>
            <thead><tr><th scope="col">Policy</th><th scope="col" class="num">Captured</th><th scope="col" class="num">Of what was possible</th><th scope="col" class="num">Late</th><th scope="col" class="num">Fresh</th><th scope="col" class="num">Age</th><th scope="col" class="num">Polls</th></tr></thead>
            <tbody>
              <tr><td><Swatch at={-1} /> recorded <span class="small dim">what was really done, {r.spent}</span></td><td class="num">{percent(r.recorded.recall)}</td><td class="num">–</td><td class="num">{span(millis(r.recorded.delay))}</td><td class="num">{percent(r.recorded.freshness)}</td><td class="num">{span(millis(r.recorded.age))}</td><td class="num">{count(r.recorded.polls)}</td></tr>
              {row.trials.map((t, i) => <tr key={t.policy}><td><Swatch at={i} /> <b>{tidy(t.policy)}</b></td><td class="num">{percent(t.recall)}</td><td class="num">{percent(t.of_limit)}</td><td class="num">{span(millis(t.delay))}</td><td class="num">{percent(t.freshness)}</td><td class="num">{span(millis(t.age))}</td><td class="num">{count(t.polls)}</td></tr>)}
            </tbody>
          </table>
        </div>
      </Section>
      <Section title="How far this can be trusted">
        <div class="trust say">
          <p><b>History has only the changes that polls found.</b> {!only ? `Changes that were probably missed are added at random: ${plural(r.added, 'change')}.` : 'Changes that were missed are left out, which favours the policy that made the recording.'}</p>
          <p><b>When a change happened is known to {brief(millis(r.window))}</b> in the median, and to {brief(millis(r.window_p90))} for nine of ten; {r.dated > 0 ? `${count(r.dated)} of the changes are dated by their source.` : 'no source dates its changes.'} Ignore differences below two percentage points.</p>
          {r.weighed && <p><b>Sources differ in weight or urgency.</b> The limit is of worth, not of the number of changes.</p>}
          {r.cut && <p><b>Older polls were left out.</b> There are more than can be replayed here.</p>}
        </div>
      </Section>
    </>
  );
}
