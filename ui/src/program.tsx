// The settings of the daemon, with what a change would mean before it is saved.
import { useEffect, useState } from 'preact/hooks';
import { address, get, Problem, send } from './api';
import { bytes, count, millis, percent, span, tidy } from './format';
import { useAction, useLoad } from './load';
import { AsLines, Button, Field, Outcome, Section, Show } from './parts';
import { People } from './people';
import { leave } from './router';
import type { Budget, Status } from './types';

export interface Setting { key: string; value: string; default: string; from: string; where?: string; fixed?: boolean; about: string }
export interface Settings { file?: string; items: Setting[] }

const groups: [string, string, string[]][] = [
  ['Budget', 'how many requests, and what for', ['budget', 'aim', 'source_gap', 'source_share', 'hints', 'workers']],
  ['Hosts', 'how gently the servers of others are asked', ['hosts.delay', 'hosts.concurrency', 'hosts.share', 'hosts.crawl_delay', 'robots']],
  ['History', 'what is kept', ['keep.age', 'keep.versions', 'keep.bytes', 'keep.total', 'keep.logs']],
  ['Log', 'what the daemon says', ['log.level']],
];

const names: Record<string, string> = {
  budget: 'Requests', aim: 'Polls are for', source_gap: 'Pause of a source', source_share: 'Most for a source', hints: 'Longest wait by hint', workers: 'Polls at once',
  'hosts.delay': 'Pause of a host', 'hosts.concurrency': 'At once to a host', 'hosts.share': 'Most for a host', 'hosts.crawl_delay': 'Longest Crawl-delay', robots: 'robots.txt',
  'keep.age': 'Versions for', 'keep.versions': 'Most versions', 'keep.bytes': 'Most bytes of them', 'keep.total': 'Largest data directory', 'keep.logs': 'Results of polls for', 'log.level': 'Level',
};

const choices: Record<string, string[]> = { aim: ['captures', 'freshness', 'age'], robots: ['ignore', 'obey'], 'log.level': ['debug', 'info', 'warn', 'error'] };

const sources: Record<string, string> = { default: 'the default', api: 'set here', file: 'set in', environment: 'set by', flag: 'set by' };

export function Program() {
  const loaded = useLoad<Settings>((s) => get('/settings', {}, s), []);
  return (
    <>
      <h1 class="title">Settings</h1>
      <p class="say lead">What you change here holds at once and after a restart. What the configuration file, the environment or a flag says wins, and is changed there.</p>
      <Show of={loaded} bars={8}>{(s) => <Form of={s} set={loaded.set} />}</Show>
      <Backups />
      <People />
    </>
  );
}

function Form({ of, set }: { of: Settings; set: (s: Settings) => void }) {
  const [draft, type] = useState<Record<string, string>>({});
  const [doing, run] = useAction();
  const [wrong, say] = useState<Problem>();
  const by = new Map(of.items.map((i) => [i.key, i]));
  const typed = Object.entries(draft).filter(([key, v]) => by.has(key) && v.trim() !== by.get(key)!.value);
  const edit = {
    set: Object.fromEntries(typed.filter(([, v]) => v.trim() !== '').map(([k, v]) => [k, v.trim()])),
    unset: typed.filter(([, v]) => v.trim() === '').map(([k]) => k),
  };
  const dirty = typed.length > 0;
  const key = JSON.stringify(edit);
  useEffect(() => {
    leave.value = dirty ? () => confirm('Leave without saving?') : null;
    return () => {
      leave.value = null;
    };
  }, [dirty]);
  // The server judges what is typed, before anything is changed.
  useEffect(() => {
    say(undefined);
    if (!dirty) return;
    let over = false;
    const timer = setTimeout(() => void send('PATCH', '/settings', { ...edit, dry_run: true }).catch((err: Problem) => over || say(err)), 300);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [key]);
  const save = () => run(async () => {
    set(await send<Settings>('PATCH', '/settings', edit));
    type({});
    return 'Saved. It holds from now on.';
  });
  const field = (s: Setting) => {
    const value = draft[s.key] ?? s.value, bad = wrong?.at('body.set.' + s.key);
    const change = (v: string) => type({ ...draft, [s.key]: v });
    const usual = s.key.startsWith('keep.') && /^0s?$/.test(s.default) ? '0, no bound' : s.default;
    const from = s.from === 'default' ? `default ${usual}` : `${sources[s.from]}${s.where ? ' ' + s.where.split('/').pop() : ''}; default ${usual}`;
    return (
      <Field key={s.key} label={names[s.key] ?? s.key} help={from} wrong={bad}>
        {choices[s.key] ? (
          <select class="input" value={value} disabled={s.fixed} onChange={(e) => change(e.currentTarget.value)}>{[...new Set([value, ...choices[s.key]])].map((c) => <option key={c}>{c}</option>)}</select>
        ) : (
          <input class="input" value={value} disabled={s.fixed} title={s.about} aria-invalid={bad ? true : undefined} onInput={(e) => change(e.currentTarget.value)} />
        )}
      </Field>
    );
  };
  const listed = groups.flatMap(([, , keys]) => keys);
  const rest = of.items.filter((i) => !listed.includes(i.key));
  return (
    <div class="cols">
      <div>
        {[...groups, ['Other', '', rest.map((i) => i.key)] as (typeof groups)[0]].map(([title, note, keys]) => {
          const mine = keys.map((k) => by.get(k)).filter((s) => s !== undefined);
          return mine.length > 0 && <Section key={title} title={title} note={note}><div class="form">{mine.map(field)}</div></Section>;
        })}
        <div class="row wrap section">
          <Button kind="main" busy={doing.busy} disabled={!dirty || !!wrong} onClick={save}>Save</Button>
          <Button local kind="ghost" disabled={!dirty} onClick={() => type({})}>Discard</Button>
          <AsLines method="PATCH" url={address('/settings')} body={edit} cli={`freshet settings ${[...Object.entries(edit.set).map(([k, v]) => `${k}=${v}`), ...edit.unset.map((k) => k + '=')].join(' ')}`} />
        </div>
        {wrong && !typed.some(([k]) => wrong.at('body.set.' + k)) && <p class="wrong" role="alert">{tidy(wrong.title)} {wrong.hint}</p>}
        <Outcome of={doing} />
      </div>
      <div>
        <BudgetEffect now={by.get('budget')?.value ?? ''} to={edit.set.budget ?? (edit.unset.includes('budget') ? by.get('budget')!.default : '')} />
        <HistoryEffect keys={typed.filter(([k]) => k.startsWith('keep.')).map(([k]) => k)} />
      </div>
    </div>
  );
}

/** BudgetEffect says what is captured now, and what would be. */
function BudgetEffect({ now, to }: { now: string; to: string }) {
  const b = useLoad<Budget>((s) => get('/budget', { points: 2, at: to }, s), [to, now]);
  const at = b.data?.at;
  return (
    <Section title="What the budget brings">
      {b.problem && to ? <p class="dim">–</p> : (
        <Show of={b}>{(d) => (d.too_early ? <p class="say">What share of changes is captured is <b>not known yet</b>: {d.too_early}.</p> : (
          <>
            <p class="say">At <b>{d.budget}</b>, as it is, about <b>{percent(d.now.share.mean)}</b> <span class="dim">({percent(d.now.share.low)} to {percent(d.now.share.high)})</span> of the changes are captured, <b>{span(millis(d.now.delay))}</b> late on average.</p>
            {at && <p class="say" role="status">At <b>{to}</b> about <b>{percent(at.share.mean)}</b> <span class="dim">({percent(at.share.low)} to {percent(at.share.high)})</span> would be, <b>{span(millis(at.delay))}</b> late. That is {count(Math.round(at.polls_per_day))} requests a day instead of {count(Math.round(d.now.polls_per_day))}.</p>}
          </>
        ))}</Show>
      )}
    </Section>
  );
}

function HistoryEffect({ keys }: { keys: string[] }) {
  const status = useLoad<Status>((s) => get('/status', {}, s), []);
  return (
    <Section title="What history takes">
      <Show of={status}>{(s) => (
        <dl class="facts">
          <dt>The data takes</dt><dd>{s.store_bytes === undefined ? '–' : bytes(s.store_bytes)}</dd>
          {s.disk && <><dt>Free on the disk</dt><dd>{bytes(s.disk.free_bytes)} of {bytes(s.disk.size_bytes)}</dd></>}
          {s.disk?.days_left !== undefined && <><dt>Full in about</dt><dd>{count(s.disk.days_left)} days</dd></>}
          <dt>Changes so far</dt><dd>{count(parseInt(s.last_change, 10) || 0)}</dd>
        </dl>
      )}</Show>
      {keys.length > 0 && <p class="say" role="status">Versions beyond the bounds are deleted within seconds of saving, the oldest first, and cannot be brought back. The newest version of each source always stays.</p>}
    </Section>
  );
}

function Backups() {
  return (
    <Section title="Backups">
      <p class="say">Everything is in the data directory. Stop the daemon and copy it, or copy a snapshot of the disk. To restore, put it back: cursors and ids go on where the copy ended, and what it had not delivered is delivered again, under the same ids.</p>
      <div class="as"><pre>freshet check --store</pre></div>
      <p class="small dim">checks every row and every version; the daemon can keep running.</p>
    </Section>
  );
}
