// The settings of a source, with what they would make of the last capture and of history.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { address, ask, part, Problem, send } from './api';
import { Frame } from './charts';
import { count, lives, plural, tidy, urgencies } from './format';
import { back } from './live';
import { quote, sourceLine } from './lines';
import { useAction } from './load';
import { may } from './me';
import { AsLines, Bars, Button, Field, nameOf, Outcome, Section, Trouble, useNumbers } from './parts';
import { Picker } from './picker';
import { go, leave } from './router';
import { Asking, Choice, Extracted, Rendering, type Fields } from './sourceform';
import type { Source } from './types';

/** kinds are the steps that take one text; the others are edited as JSON. */
const kinds = ['css', 'xpath', 'jsonpath', 'jq', 'regex', 'drop', 'mask', 'main', 'markdown', 'text', 'table', 'pretty', 'lines', 'replace'];
const bare = new Set(['main', 'markdown', 'text', 'table', 'pretty']);

interface Step { kind: string; arg: string }

/** stepsOf reads a chain as it is edited; the short form is a chain of one step. */
function stepsOf(s: Source): Step[] {
  const read = s.read ?? [];
  if (read.length === 0 && s.select.css) return [{ kind: 'css', arg: s.select.css }];
  if (read.length === 0 && s.select.jsonpath) return [{ kind: 'jsonpath', arg: s.select.jsonpath }];
  return read.map((step) => {
    if (typeof step === 'string') return { kind: step, arg: '' };
    const [kind, arg] = Object.entries(step as Record<string, unknown>)[0] ?? ['text', ''];
    return { kind, arg: typeof arg === 'string' ? arg : JSON.stringify(arg) };
  });
}

/** readOf is the chain as the API takes it. */
function readOf(steps: Step[]): unknown[] {
  return steps.map(({ kind, arg }) => {
    if (arg.trim() === '') return kind;
    if (/^[[{]/.test(arg.trim())) {
      try {
        return { [kind]: JSON.parse(arg) as unknown };
      } catch {
        // Not JSON: a text that begins so.
      }
    }
    return { [kind]: arg };
  });
}

interface Trial {
  version: number; steps: { step: string; out: string; took_ms: number }[]; text: string; items: number; fields?: Record<string, unknown>;
  history?: { items: { number: number; change: boolean; error?: string }[]; changes: number; spared: number; failed: number; cut?: boolean };
}

const texts = ['name', 'tags', 'level', 'min_gap', 'max_gap', 'strategy', 'active', 'life', 'urgency', 'weight', 'noise', 'suspect', 'robots', 'keep_age', 'keep_versions'] as const;
type Draft = Record<(typeof texts)[number], string> & { steps: Step[]; extract: Fields; request: Fields; render: unknown };

function draftOf(s: Source): Draft {
  return {
    name: s.name ?? '', tags: s.tags.join(', '), level: s.level ?? '', min_gap: s.min_gap ?? '', max_gap: s.max_gap ?? '', strategy: s.strategy ?? '', active: s.active ?? '',
    life: s.life, urgency: s.urgency, weight: String(s.weight), noise: s.noise, suspect: s.suspect, robots: s.robots, keep_age: String(s.keep.age ?? ''), keep_versions: String(s.keep.versions ?? ''),
    steps: stepsOf(s), extract: s.extract ?? {}, request: s.request ?? {}, render: s.render,
  };
}

/** replaced turns a value into another by a merge patch: what is gone is null. */
function replaced(was: unknown, now: unknown): unknown {
  const isObject = (v: unknown): v is Fields => typeof v === 'object' && v !== null && !Array.isArray(v);
  if (!isObject(now)) return now ?? null;
  if (Object.keys(now).length === 0) return null;
  if (!isObject(was)) return now;
  return { ...Object.fromEntries(Object.keys(was).filter((k) => !(k in now)).map((k) => [k, null])), ...Object.fromEntries(Object.entries(now).map(([k, v]) => [k, replaced(was[k], v)])) };
}

/** patchOf is what a draft changes, as a merge patch. */
function patchOf(s: Source, d: Draft): Record<string, unknown> {
  const was = draftOf(s), patch: Record<string, unknown> = {};
  for (const key of texts) {
    if (d[key] === was[key]) continue;
    if (key === 'tags') patch.tags = d.tags.split(',').map((t) => t.trim()).filter(Boolean);
    else if (key === 'weight') patch.weight = Number(d.weight) || null;
    else if (key === 'keep_age') patch.keep = { ...(patch.keep as Fields), age: d.keep_age.trim() || null };
    else if (key === 'keep_versions') patch.keep = { ...(patch.keep as Fields), versions: Number(d.keep_versions) || null };
    else patch[key] = d[key].trim() || null;
  }
  for (const key of ['extract', 'request', 'render'] as const) if (JSON.stringify(d[key]) !== JSON.stringify(was[key])) patch[key] = replaced(was[key], d[key]);
  if (JSON.stringify(d.steps) !== JSON.stringify(was.steps)) {
    patch.read = d.steps.length ? readOf(d.steps) : null;
    if (s.select.css || s.select.jsonpath) patch.select = { css: null, jsonpath: null };
  }
  return patch;
}

export function SourceSettings({ of: s, etag, reload }: { of: Source; etag: string; reload: () => void }) {
  const [draft, set] = useState(() => draftOf(s));
  const [base, keep] = useState({ s, etag });
  const [doing, run] = useAction();
  const [picking, choose] = useState(false);
  const patch = useMemo(() => patchOf(base.s, draft), [base, draft]);
  const dirty = Object.keys(patch).length > 0;
  useEffect(() => {
    // What somebody else changed is taken over as long as nothing was typed.
    if (!dirty && etag !== base.etag) {
      keep({ s, etag });
      set(draftOf(s));
    }
  }, [etag, dirty]);
  useEffect(() => {
    leave.value = dirty ? () => confirm('Leave without saving?') : null;
    return () => {
      leave.value = null;
    };
  }, [dirty]);
  const wrong = (field: string) => doing.problem?.at('body.' + field);
  const text = (key: (typeof texts)[number], label: string, help?: string, placeholder = '') => (
    <Field label={label} help={help} wrong={wrong(key)}>
      <input class="input" value={draft[key]} placeholder={placeholder} aria-invalid={wrong(key) ? true : undefined} onInput={(e) => set({ ...draft, [key]: e.currentTarget.value })} />
    </Field>
  );
  const choice = (key: (typeof texts)[number], label: string, options: [string, string][]) => (
    <Field label={label} wrong={wrong(key)}>
      <select class="input" value={draft[key]} onChange={(e) => set({ ...draft, [key]: e.currentTarget.value })}>
        {options.map(([o, word]) => <option key={o} value={o}>{word}</option>)}
      </select>
    </Field>
  );
  const pick1 = (key: (typeof texts)[number], label: string, options: [string, string][]) => <Choice label={label} wrong={wrong(key.replace('keep_', 'keep.'))} value={draft[key]} options={options} set={(v) => set({ ...draft, [key]: v })} />;
  const save = () => run(async () => {
    const saved = await ask<Source>('PATCH', address(`/sources/${part(s.id)}`), patch, { headers: base.etag ? { 'If-Match': base.etag } : {} });
    keep({ s: saved.data, etag: saved.etag });
    set(draftOf(saved.data));
    reload();
    return 'Saved.';
  });
  const remove = () => confirm(`Stop watching ${nameOf(s)}? Its history is kept.`) && run(async () => {
    await send('DELETE', `/sources/${part(s.id)}`);
    leave.value = null;
    go('/sources');
  });
  const listed = s.origin === 'file';
  const css = draft.steps.findIndex((x) => x.kind === 'css');
  /** pick compares one element: in place of what was selected before, or first of all. */
  const pick = (selector: string) => {
    const step = { kind: 'css', arg: selector };
    set({ ...draft, steps: css < 0 ? [step, ...draft.steps] : draft.steps.map((x, i) => (i === css ? step : x)) });
  };
  return (
    <>
    {picking && <Picker at={`/sources/${part(s.id)}/versions/latest`} now={draft.steps[css]?.arg ?? ''} pick={pick} close={() => choose(false)} />}
    <div class="cols">
      <div>
        {listed && <p class="say">The configuration file lists this source; edit it there. What you try here is not saved.</p>}
        {!may('write') && <p class="say">Only an editor can change these settings.</p>}
        <fieldset class="plain" disabled={!may('write')}>
        <Section title="What to compare" id="choose" side={may('write') && (
          <span class="row">
            <Button local kind="ghost" pressed={picking} onClick={() => choose(!picking)}>Choose an element</Button>
            <Button local kind="ghost" icon="plus" onClick={() => set({ ...draft, steps: [...draft.steps, { kind: 'css', arg: '' }] })}>Add a step</Button>
          </span>
        )}>
          {draft.steps.length === 0 && <p class="empty">All of the text.</p>}
          <ul class="steps">
            {draft.steps.map((step, i) => {
              const change = (to: Partial<Step>) => set({ ...draft, steps: draft.steps.map((x, j) => (i === j ? { ...x, ...to } : x)) });
              const move = (by: number) => {
                const steps = [...draft.steps];
                steps.splice(i + by, 0, ...steps.splice(i, 1));
                set({ ...draft, steps });
              };
              return (
                <li key={i}>
                  <select class="input" aria-label={`Step ${i + 1}`} value={step.kind} onChange={(e) => change({ kind: e.currentTarget.value })}>
                    {[...new Set([step.kind, ...kinds])].map((k) => <option key={k}>{k}</option>)}
                  </select>
                  {bare.has(step.kind) && !step.arg ? <span /> : <input class="input code" aria-label={`Argument of step ${i + 1}`} value={step.arg} onInput={(e) => change({ arg: e.currentTarget.value })} />}
                  {may('write') && <><button type="button" class="icon-button" aria-label={`Move step ${i + 1} up`} disabled={i === 0} onClick={() => move(-1)}>↑</button>
                  <button type="button" class="icon-button" aria-label={`Remove step ${i + 1}`} onClick={() => set({ ...draft, steps: draft.steps.filter((_, j) => j !== i) })}>×</button></>}
                </li>
              );
            })}
          </ul>
          {wrong('read') && <p class="wrong" role="alert">{tidy(wrong('read')!)}</p>}
        </Section>
        <Section title="Values" note="kept with each version">
          <Extracted value={draft.extract} set={(extract) => set({ ...draft, extract })} />
          {wrong('extract') && <p class="wrong" role="alert">{tidy(wrong('extract')!)}</p>}
        </Section>
        <Section title="Request and login" id="request">
          <Asking key={base.etag} value={draft.request} set={(request) => set({ ...draft, request })} wrong={wrong('request')} />
        </Section>
        <Section title="Rendering" id="render">
          <Rendering value={draft.render} set={(render) => set({ ...draft, render })} wrong={wrong('render')} />
        </Section>
        <Section title="When to poll">
          <div class="form">
            {pick1('level', 'Service level', [['', 'none'], ['90% within 1m', '90% of changes in 1 minute'], ['90% within 10m', '90% of changes in 10 minutes'], ['90% within 1h', '90% of changes in 1 hour'], ['90% within 1d', '90% of changes in 1 day']])}
            {pick1('weight', 'Importance', [['0.5', 'half'], ['1', 'normal'], ['2', 'twice'], ['5', 'five times'], ['10', 'ten times']])}
            {pick1('min_gap', 'Minimum interval', [['', 'none'], ['1m', '1 minute'], ['5m', '5 minutes'], ['1h', '1 hour'], ['1d', '1 day']])}
            {pick1('max_gap', 'Maximum interval', [['', 'none'], ['5m', '5 minutes'], ['1h', '1 hour'], ['1d', '1 day'], ['7d', '1 week']])}
            {text('active', 'Only in these hours', 'such as mon-fri 09:00-17:00 Europe/Berlin', 'always')}
            {text('strategy', 'Only at these times', 'such as day {06:30, 14:00} Europe/Berlin', 'as Freshet decides')}
            {pick1('life', 'A change stays visible', lives)}
            {pick1('urgency', 'Value of a late capture', urgencies)}
          </div>
        </Section>
        <Section title="Name, tags and checks">
          <div class="form">
            {text('name', 'Name', undefined, tidy(s.standing.title ?? ''))}
            {text('tags', 'Tags', 'separated by commas')}
            {choice('noise', 'Parts that always change', [['auto', 'ignore them'], ['report', 'report them'], ['off', 'do not detect them']])}
            {choice('suspect', 'If it looks like the wrong page', [['hold', 'wait for a second poll'], ['mark', 'report it, marked'], ['off', 'do not check']])}
            {choice('robots', 'robots.txt', [['default', 'as the settings say'], ['obey', 'obey'], ['ignore', 'ignore']])}
          </div>
        </Section>
        <Section title="History of this source">
          <div class="form">
            {pick1('keep_age', 'Keep versions for', [['', 'as the settings say'], ['30d', '30 days'], ['1y', '1 year']])}
            {pick1('keep_versions', 'Versions kept', [['', 'as the settings say'], ['10', '10'], ['100', '100'], ['1000', '1,000']])}
          </div>
        </Section>
        </fieldset>
        <div class="row wrap section">
          <Button kind="main" busy={doing.busy} disabled={!dirty || listed} onClick={save}>Save</Button>
          <Button local needs="write" kind="ghost" disabled={!dirty} onClick={() => set(draftOf(base.s))}>Discard</Button>
          <AsLines method="PATCH" url={address(`/sources/${part(s.id)}`)} body={patch} cli={sourceLine('edit', s.id, patch)}
            also={listed ? [] : [{ method: 'DELETE', url: address(`/sources/${part(s.id)}`), cli: `freshet remove ${quote(s.id)}` }]} />
          <span class="grow" />
          {!listed && <Button kind="ghost" danger icon="trash" onClick={remove}>Stop watching</Button>}
        </div>
        <Outcome of={doing} />
      </div>
      <div>
        {may('write') && <Preview id={s.id} steps={draft.steps} />}
      </div>
    </div>
    </>
  );
}

/** Preview runs the chain over the last capture, and over history. */
function Preview({ id, steps }: { id: string; steps: Step[] }) {
  const [state, set] = useState<{ trial?: Trial; problem?: Problem; busy: boolean }>({ busy: true });
  const key = JSON.stringify(steps);
  useEffect(() => {
    let over = false;
    const timer = setTimeout(async () => {
      set((s) => ({ ...s, busy: true }));
      try {
        const trial = await send<Trial>('POST', `/sources/${part(id)}/test`, { read: readOf(steps.filter((s) => bare.has(s.kind) || s.arg.trim())), select: { css: null, jsonpath: null } }, { history: 90 });
        if (!over) set({ trial, busy: false });
      } catch (err) {
        if (!over) set((s) => ({ ...s, problem: err as Problem, busy: false }));
      }
    }, 300);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [id, key, back.value]);
  const { trial, problem, busy } = state;
  return (
    <>
      <Section title="What would be compared" note={busy ? 'trying' : 'of the latest version'}>
        {problem && <Trouble problem={problem} />}
        {!trial ? busy && <Bars n={5} /> : (
          <div class="panel preview" aria-busy={busy} tabIndex={0} role="region" aria-label="Text of the latest version">
            <pre><bdi>{tidy(trial.text.slice(0, 20_000))}</bdi></pre>
          </div>
        )}
        {trial && trial.steps.length > 0 && <p class="small dim">{trial.steps.map((s) => `${s.step}: ${plural(s.out ? s.out.split('\n').length : 0, 'line')}`).join(' · ')}</p>}
      </Section>
      {trial?.history && (
        <Section title="Over the stored versions" note={trial.history.items.length > 1 && `the last ${trial.history.items.length}`}>
          <Over of={trial.history.items} />
          <p class="say">
            Of {plural(trial.history.items.length, 'version')} <b>{count(trial.history.changes)}</b> would be changes, {count(trial.history.spared)} would not
            {trial.history.failed > 0 && <>, and {count(trial.history.failed)} could not be read</>}.{trial.history.cut && ' The newest were not read: that took too long.'}
          </p>
        </Section>
      )}
    </>
  );
}

/** Over draws each version: solid if it would be a change. */
function Over({ of }: { of: { number: number; change: boolean; error?: string }[] }) {
  const [toggle, table] = useNumbers(['Version', 'Would be'], () => of.map((v) => [v.number, v.error ? 'not read: ' + tidy(v.error) : v.change ? 'a change' : 'no change']));
  return (
    <>
    <Frame label={`${of.filter((v) => v.change).length} of ${of.length} versions would be changes`} height={24}>
      {(width) => {
        const step = width / of.length, w = Math.max(1, step - 2);
        return of.map((v, i) => (v.error ? <rect key={i} x={i * step} y="2" width={w} height="20" fill="none" stroke="var(--flare-fill)" />
          : v.change ? <rect key={i} class="seen" x={i * step} y="2" width={w} height="20" />
          : <rect key={i} x={i * step + 0.5} y="11" width={w} height="10" fill="none" stroke="var(--edge)" />));
      }}
    </Frame>
    <p>{toggle}</p>
    {table}
    </>
  );
}
