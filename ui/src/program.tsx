// The settings of the daemon, with what a change would mean before it is saved.
import { useEffect, useState } from 'preact/hooks';
import { address, ask, get, Problem, type Answer } from './api';
import { bytes, count, millis, percent, plural, span, tidy, tooEarly } from './format';
import { quote } from './lines';
import { back } from './live';
import { useAction, useLoad } from './load';
import { may } from './me';
import { AsLines, Bars, Button, Field, Outcome, Section, Show } from './parts';
import { Audit } from './audit';
import { People } from './people';
import { kindName } from './sinks';
import { leave } from './router';
import type { Budget, BudgetPoint, Overview, SinkInfo, Status } from './types';

export interface Setting { key: string; value: string; default: string; from: string; where?: string; fixed?: boolean; about: string }
export interface Settings { file?: string; items: Setting[]; effect?: Effect }

/** An Effect is what an edit would bring, as a dry run says. */
interface Effect {
  changed: { key: string; from: string; to: string }[];
  drops?: { versions: number; outcomes: number; bytes: number };
  polling?: { too_early?: string; now: BudgetPoint; then: BudgetPoint };
}

/** A Group is settings that belong together, on one of the tabs. */
type Group = [title: string, note: string, keys: string[], tab: string];

const groups: Group[] = [
  ['Budget', 'how many requests, and what for', ['budget', 'aim', 'source_gap', 'source_share', 'hints', 'workers'], ''],
  ['Tags', 'for sources with a tag, as in the configuration file', ['levels', 'strategies', 'shares'], ''],
  ['Hosts', 'how gently other servers are polled', ['hosts.delay', 'hosts.concurrency', 'hosts.share', 'hosts.crawl_delay', 'robots'], ''],
  ['History', 'what is kept', ['keep.age', 'keep.versions', 'keep.bytes', 'keep.total', 'keep.logs'], 'history'],
  ['Log', 'what the daemon logs', ['log.level'], 'history'],
  ['Mail server', 'for all e-mail', ['mail.server', 'mail.from', 'mail.user', 'mail.password', 'mail.tls'], 'notifications'],
];

const names: Record<string, string> = {
  budget: 'Requests', aim: 'Optimize for', source_gap: 'Minimum interval per source', source_share: 'Maximum share per source', hints: 'Maximum cache delay', workers: 'Concurrent polls',
  levels: 'Service levels', strategies: 'Fixed times', shares: 'Shares of the budget',
  'hosts.delay': 'Delay between requests to a host', 'hosts.concurrency': 'Concurrent requests to a host', 'hosts.share': 'Maximum share per host', 'hosts.crawl_delay': 'Maximum Crawl-delay', robots: 'robots.txt',
  'keep.age': 'Keep versions for', 'keep.versions': 'Versions per source', 'keep.bytes': 'Bytes of versions per source', 'keep.total': 'Size of the data directory', 'keep.logs': 'Keep results of polls for', 'log.level': 'Log level',
  'mail.server': 'Server', 'mail.from': 'From', 'mail.user': 'User', 'mail.password': 'Password', 'mail.tls': 'Encryption',
};

const choices: Record<string, string[]> = { aim: ['captures', 'freshness', 'age'], robots: ['ignore', 'obey'], 'mail.tls': ['', 'starttls', 'tls', 'none'], 'log.level': ['debug', 'info', 'warn', 'error'] };

const examples: Record<string, string> = { 'mail.server': 'smtp://mail.example:587', levels: '[{tag: news, level: 90% within 10m}]', strategies: '[{tag: weather, strategy: "hour {5, 35}"}]', shares: '[{tag: news, min: 10%, max: 40%}]' };

const sources: Record<string, string> = { file: 'set in', environment: 'set by', flag: 'set by' };

const tabs: [string, string][] = [['', 'Polling'], ['history', 'History'], ['notifications', 'Notifications'], ['people', 'People'], ['browser', 'Browser'], ['audit', 'Audit']];

export function Program({ tab }: { tab: string }) {
  const loaded = useLoad<Answer<Settings>>((s) => ask('GET', address('/settings'), undefined, { signal: s }), []);
  const mine = groups.some(([, , , t]) => t === tab);
  return (
    <>
      <h1 class="title">Settings</h1>
      <nav class="tabs" aria-label="Parts of the settings">
        {tabs.filter(([t]) => t !== 'audit' || may('admin')).map(([t, word]) => <a key={t} href={'/settings' + (t && '/' + t)} aria-current={t === tab ? 'page' : undefined}>{word}</a>)}
      </nav>
      {mine && <p class="say lead">Changes apply immediately and survive restarts. Values from the configuration file, the environment or flags take precedence; change them there.</p>}
      {mine && <Show of={loaded} bars={8}>{(s) => <Form key={tab} tab={tab} of={s.data} etag={s.etag} set={loaded.set} />}</Show>}
      {tab === 'history' && <Backups />}
      {tab === 'notifications' && <Channels />}
      {tab === 'people' && <People />}
      {tab === 'browser' && <Tools />}
      {tab === 'audit' && <Audit />}
    </>
  );
}

/** Channels leads to where messages are sent. */
function Channels() {
  const sinks = useLoad<{ items: SinkInfo[] }>((s) => get('/sinks', {}, s), []);
  return (
    <Section title="Sinks" side={may('write') && <a class="button ghost" href="/sinks/new">Add a sink</a>}>
      <Show of={sinks}>{(l) => (l.items.length === 0 ? <p class="empty">None yet. An alert can name a new one, too.</p> : (
        <ul class="plain">{l.items.map((s) => <li key={s.name}><a href={'/sinks/' + encodeURIComponent(s.name)}><bdi>{tidy(s.name)}</bdi></a> <span class="dim">{kindName(s.kind ?? '')}</span></li>)}</ul>
      ))}</Show>
    </Section>
  );
}

/** Tools are ways to add a page from the page itself. */
function Tools() {
  const script = `javascript:void(open(${JSON.stringify(location.origin + '/start?url=')}+encodeURIComponent(location.href)))`;
  const [doing, run] = useAction();
  return (
    <Section title="Bookmark">
      <p class="say">Save this address as a bookmark. Click it on any page to watch that page.</p>
      <div class="row"><input class="input code grow" readOnly aria-label="Address of the bookmark" value={script} onFocus={(e) => e.currentTarget.select()} />
        <Button local onClick={() => run(async () => { await navigator.clipboard?.writeText(script); return 'Copied.'; })}>Copy</Button></div>
      <Outcome of={doing} />
      <p class="small dim">The browser extension in contrib/extension does the same from a button and the context menu, and can watch a single element.</p>
    </Section>
  );
}

function Form({ tab, of, etag, set }: { tab: string; of: Settings; etag: string; set: (s: Answer<Settings>) => void }) {
  const [draft, type] = useState<Record<string, string>>({});
  const [doing, run] = useAction();
  const [wrong, say] = useState<Problem>();
  const [effect, show] = useState<Effect>();
  const [trying, wait] = useState(false);
  const [meanwhile, note] = useState<string[]>(); // what somebody else changed
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
  // The server judges what is typed and says what it would bring, before anything is changed.
  useEffect(() => {
    say(undefined);
    show(undefined);
    wait(dirty);
    if (!dirty) return;
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      try {
        show((await ask<Settings>('PATCH', address('/settings'), { ...edit, dry_run: true }, { signal: stop.signal })).data.effect);
      } catch (err) {
        if (stop.signal.aborted) return;
        say(err as Problem);
      }
      wait(false);
    }, 300);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, etag, back.value]);
  /** reread takes over what somebody else saved. What was typed stays. */
  const reread = async () => {
    const fresh = await ask<Settings>('GET', address('/settings'));
    note(fresh.data.items.filter((i) => i.value !== by.get(i.key)?.value).map((i) => `${names[i.key] ?? i.key}: ${by.get(i.key)?.value ?? 'none'} is now ${i.value}`));
    set(fresh);
  };
  const save = () => run(async () => {
    try {
      const saved = await ask<Settings>('PATCH', address('/settings'), edit, { headers: { 'If-Match': etag } });
      set(saved);
    } catch (err) {
      if (!(err instanceof Problem) || err.status !== 412) throw err;
      await reread();
      return;
    }
    note(undefined);
    type({});
    return 'Saved.';
  });
  const field = (s: Setting) => {
    const value = draft[s.key] ?? s.value, bad = wrong?.at('body.set.' + s.key);
    const change = (v: string) => type({ ...draft, [s.key]: v });
    const unlimited = s.key.startsWith('keep.') && /^0s?$/.test(s.default);
    const help = [
      s.from !== 'default' && s.from !== 'api' && `${sources[s.from]}${s.where ? ' ' + s.where.split('/').pop() : ''}`,
      unlimited ? '0 means no limit' : s.default && s.default !== value && `default ${s.default}`,
    ].filter(Boolean).join('; ');
    return (
      <Field key={s.key} label={names[s.key] ?? s.key} help={help} wrong={bad}>
        {choices[s.key] ? (
          <select class="input" value={value} disabled={s.fixed || !may('admin')} onChange={(e) => change(e.currentTarget.value)}>{[...new Set([value, ...choices[s.key]])].map((c) => <option key={c} value={c}>{c || 'as the URL says'}</option>)}</select>
        ) : (
          <input class="input" type={draft[s.key] && s.key === 'mail.password' ? 'password' : 'text'} autocomplete="off" value={value} placeholder={examples[s.key]} disabled={s.fixed || !may('admin')} title={s.about} aria-invalid={bad ? true : undefined} onInput={(e) => change(e.currentTarget.value)} />
        )}
      </Field>
    );
  };
  const listed = groups.flatMap(([, , keys]) => keys);
  const rest: Group = ['Other', '', of.items.filter((i) => !listed.includes(i.key)).map((i) => i.key), ''];
  return (
    <div class="cols">
      <div>
        {[...groups, rest].filter(([, , , t]) => t === tab).map(([title, note, keys]) => {
          const mine = keys.map((k) => by.get(k)).filter((s) => s !== undefined);
          return mine.length > 0 && <Section key={title} title={title} note={note}><div class="form">{mine.map(field)}</div></Section>;
        })}
        <div class="row wrap section">
          {!may('admin') && <p class="say">Only an admin can change these settings.</p>}
          <Button needs="admin" kind="main" busy={doing.busy} disabled={!dirty || !!wrong} onClick={save}>Save</Button>
          <Button local needs="admin" kind="ghost" disabled={!dirty} onClick={() => (type({}), note(undefined))}>Discard</Button>
          <AsLines needs="admin" method="PATCH" url={address('/settings')} body={edit} cli={`freshet settings ${[...Object.entries(edit.set).map(([k, v]) => quote(`${k}=${v}`)), ...edit.unset.map((k) => k + '=')].join(' ')}`} />
        </div>
        {meanwhile && (
          <div class="wrong" role="alert">
            <p>Somebody else changed the settings in the meantime, so nothing was saved. What you typed is still here: look it over, then save again.</p>
            {meanwhile.map((m) => <p key={m} class="dim"><bdi>{tidy(m)}</bdi></p>)}
          </div>
        )}
        {wrong && !typed.some(([k]) => wrong.at('body.set.' + k)) && <p class="wrong" role="alert">{tidy(wrong.title)} {wrong.hint}</p>}
        <Outcome of={doing} />
      </div>
      <div>
        {dirty && !wrong && <EffectOf edit={effect} trying={trying} />}
        {tab === '' && <BudgetNow budget={by.get('budget')?.value ?? ''} />}
        {tab === 'history' && <HistoryNow />}
      </div>
    </div>
  );
}

/** EffectOf says what an edit would bring, before it is saved. */
function EffectOf({ edit, trying }: { edit: Effect | undefined; trying: boolean }) {
  const drops = edit?.drops, polling = edit?.polling;
  return (
    <Section title="What it would change" note={trying ? 'trying' : 'before you save'}>
      <div class="stack" role="status" aria-busy={trying}>
        {!edit ? <Bars n={2} /> : (
          <>
            <dl class="facts">{edit.changed.map((c) => [<dt key={c.key}>{names[c.key] ?? c.key}</dt>, <dd key={c.key + '='}><del>{tidy(c.from)}</del> <ins>{tidy(c.to)}</ins></dd>])}</dl>
            {drops && (drops.versions === 0 && drops.outcomes === 0 ? <p class="say">Nothing would be deleted now.</p> : (
              <p class="say warn">
                It deletes {drops.versions > 0 && <><b>{plural(drops.versions, 'version')}</b> (about {bytes(drops.bytes)})</>}{drops.versions > 0 && drops.outcomes > 0 && ' and '}
                {drops.outcomes > 0 && <b>{plural(drops.outcomes, 'result of a poll', 'results of polls')}</b>} within seconds of saving. They cannot be brought back. The newest version of each source always stays; changes stay in the log, but those whose versions go can no longer be compared.
              </p>
            ))}
            {polling && (polling.too_early ? <p class="say">What would be captured is <b>not known yet</b>: {polling.too_early}.</p> : (
              <p class="say">Forecast: about <b>{percent(polling.then.share.mean)}</b> <span class="dim">({percent(polling.then.share.low)} to {percent(polling.then.share.high)})</span> of the changes would be captured, <b>{span(millis(polling.then.delay))}</b> late on average.</p>
            ))}
            {polling && <Compared of={polling} />}
            {!drops && !polling && <p class="say">It applies from the next poll. Nothing is deleted.</p>}
          </>
        )}
      </div>
    </Section>
  );
}

/** Compared has what is expected now beside what would be then. */
function Compared({ of: { now, then, too_early } }: { of: NonNullable<Effect['polling']> }) {
  const rows: [string, (p: BudgetPoint) => string][] = [
    ['Requests a day, at most', (p) => count(p.polls_per_day)],
    ['Requests a day, useful', (p) => count(p.spent_per_day)],
  ];
  if (!too_early) {
    rows.push(['Changes captured', (p) => percent(p.share.mean)], ['Changes captured a day', (p) => count(p.share.mean * p.changes_per_day)], ['Late on average', (p) => span(millis(p.delay))]);
  }
  return (
    <div class="numbers">
      <table>
        <thead><tr><th scope="col">Forecast</th><th scope="col" class="num">Now</th><th scope="col" class="num">Then</th></tr></thead>
        <tbody>{rows.map(([name, of]) => <tr key={name}><th scope="row">{name}</th><td class="num">{of(now)}</td><td class="num">{of(then)}</td></tr>)}</tbody>
      </table>
    </div>
  );
}

/** BudgetNow says what is captured as it is. */
function BudgetNow({ budget }: { budget: string }) {
  const b = useLoad<Budget>(async (s) => {
    const [now, o] = await Promise.all([get<Budget>('/budget', { points: 1 }, s), get<Overview>('/overview', {}, s)]);
    return { ...now, too_early: now.too_early || (o.captured && tooEarly(o.captured)) };
  }, [budget]);
  return (
    <Section title="Forecast">
      <Show of={b}>{(d) => (d.sources === 0 ? <p class="say">No source is polled yet.</p> : d.too_early ? <p class="say">What share of changes is captured is <b>not known yet</b>: {d.too_early}.</p> : (
        <p class="say">At <b>{d.budget}</b>, about <b>{percent(d.now.share.mean)}</b> <span class="dim">({percent(d.now.share.low)} to {percent(d.now.share.high)})</span> of the changes are captured, <b>{span(millis(d.now.delay))}</b> late on average.</p>
      ))}</Show>
    </Section>
  );
}

function HistoryNow() {
  const status = useLoad<Status>((s) => get('/status', {}, s), []);
  return (
    <Section title="Storage">
      <Show of={status}>{(s) => (
        <dl class="facts">
          <dt>Used</dt><dd>{s.store_bytes === undefined ? '–' : bytes(s.store_bytes)}</dd>
          {s.disk && <><dt>Free on the disk</dt><dd>{bytes(s.disk.free_bytes)} of {bytes(s.disk.size_bytes)}</dd></>}
          {s.disk?.days_left !== undefined && <><dt>Full in about</dt><dd>{count(s.disk.days_left)} days</dd></>}
          <dt>Changes so far</dt><dd>{count(parseInt(s.last_change, 10) || 0)}</dd>
        </dl>
      )}</Show>
    </Section>
  );
}

function Backups() {
  return (
    <Section title="Backups">
      <p class="say">This command backs up all data while the daemon runs.</p>
      <div class="as"><pre>freshet backup DIRECTORY</pre></div>
    </Section>
  );
}
