// A condition in CEL: names are completed, mistakes are shown where they are, and what rows of field,
// operator and value can say is built from such rows.
import { useRef, useState } from 'preact/hooks';
import type { Problem } from './api';
import { read, write, type Row } from './builder';
import { tidy } from './format';
import { Button, Icon } from './parts';

/** names are what a condition can ask for, by their types; functions by their arguments. */
const names: [string, string][] = Object.entries({
  text: 'added removed text source.id source.url source.name source.host source.site change.id change.summary change.suspect poll.result poll.failure',
  number: 'change.seq poll.failures poll.status',
  time: 'change.after change.before change.modified change.at',
  'true or false': 'noise suspect page.new page.gone page.back poll.ok',
  list: 'source.tags items.added items.removed items.back items.updated',
  values: 'now before',
  'of a text': 'contains() startsWith() matches()', 'of a list': 'exists()', 'of a text or list': 'size()',
  'text, word': 'mentions()', 'before, now': 'percent()', 'a text': 'lines() date() relevant()', 'a list': 'unseen()', '"1h"': 'count()', 'condition, "1h"': 'after()',
  'number, "30d"': 'sum() lowest() highest() mean() median()', 'value': 'first() previous()', 'value, "7d"': 'distinct() others()',
}).flatMap(([is, all]) => all.split(' ').map((n) => [n, is] as [string, string]));

/** where returns what is wrong with a condition, and the line and the place in it. */
function where(problem: Problem | undefined): { words: string; hint: string; line: number; column: number } | undefined {
  if (!problem) return undefined;
  const text = problem.at('body.when') ?? problem.title;
  const [, line, column, rest] = /line (\d+), column (\d+): ([^]*)$/.exec(text) ?? [];
  return { words: rest ?? text, hint: problem.hint, line: Number(line ?? 0), column: Number(column ?? 0) };
}

interface Props { value: string; set: (t: string) => void; problem?: Problem; busy?: boolean; fields?: string[]; label?: string; empty?: string }

/** Condition edits a condition as text. Fields are the names of the values that sources have. */
export function Condition({ value: text, set, problem, busy, fields = [], label = 'Condition', empty = 'Every change matches' }: Props) {
  const area = useRef<HTMLTextAreaElement>(null);
  const [offer, show] = useState<{ from: number; items: [string, string][]; at: number }>();
  const all: [string, string][] = [...fields.flatMap((f) => [['now.' + f, 'value'], ['before.' + f, 'value before']] as [string, string][]), ...names];
  const complete = () => {
    const el = area.current!;
    const typed = /[\w.]*$/.exec(el.value.slice(0, el.selectionStart))![0];
    const items = typed.length > 0 ? all.filter(([n, type]) => n !== typed && (n.startsWith(typed) || (typed.endsWith('.') && type.startsWith('of a ')))) : [];
    show(items.length ? { from: el.selectionStart - (typed.endsWith('.') && !items[0][0].startsWith(typed) ? 0 : typed.length), items: items.slice(0, 8), at: 0 } : undefined);
  };
  const take = (i: number) => {
    const el = area.current!, [name] = offer!.items[i];
    const next = el.value.slice(0, offer!.from) + name + el.value.slice(el.selectionStart);
    const caret = offer!.from + name.length - (name.endsWith('()') ? 1 : 0);
    set(next);
    show(undefined);
    requestAnimationFrame(() => el.setSelectionRange(caret, caret));
  };
  const key = (e: KeyboardEvent) => {
    if (!offer) return;
    const n = offer.items.length;
    if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
      e.preventDefault();
      show({ ...offer, at: (offer.at + (e.key === 'ArrowDown' ? 1 : n - 1)) % n });
    } else if (e.key === 'Tab' || e.key === 'Enter') {
      e.preventDefault();
      take(offer.at);
    } else if (e.key === 'Escape') {
      e.stopPropagation();
      show(undefined);
    }
  };
  const wrong = where(problem);
  const line = wrong && wrong.line > 0 ? text.split('\n')[wrong.line - 1] : undefined;
  return (
    <div class="editor">
      <label>
        <span class="hidden-text">{label}</span>
        <textarea
          ref={area} class="input code" aria-label={label} rows={Math.max(2, text.split('\n').length)} spellcheck={false} autocapitalize="off" value={text} placeholder="now.price < before.price * 0.9"
          aria-invalid={wrong ? true : undefined} aria-describedby="condition-says" aria-controls={offer ? 'condition-offer' : undefined} aria-autocomplete="list" aria-activedescendant={offer ? 'offer-' + offer.at : undefined}
          onInput={(e) => { set(e.currentTarget.value); complete(); }} onKeyDown={key} onBlur={() => setTimeout(() => show(undefined), 150)}
        />
      </label>
      {offer && (
        <ul class="complete" id="condition-offer" role="listbox" aria-label="Names">
          {offer.items.map(([n, type], i) => <li key={n} id={'offer-' + i} role="option" aria-selected={i === offer.at} onPointerDown={(e) => { e.preventDefault(); take(i); }}><span>{n}</span><span class="dim">{type}</span></li>)}
        </ul>
      )}
      {wrong && line !== undefined && <pre class="caret" aria-hidden="true">{tidy(line)}{'\n' + ' '.repeat(Math.max(0, wrong.column - 1)) + '^'}</pre>}
      <p id="condition-says" class="small" aria-live="polite">
        {wrong ? <span class="wrong">{tidy(wrong.words)}{wrong.line > 0 && <span class="hidden-text"> (line {wrong.line}, column {wrong.column})</span>} {wrong.hint && <span class="dim">{tidy(wrong.hint)}</span>}</span>
          : busy ? <span class="dim">checking</span> : <span class="good">{text.trim() ? 'The condition is valid' : empty}</span>}
      </p>
    </div>
  );
}

const numberOps: [string, string][] = [['<', 'is below'], ['<=', 'is at most'], ['>', 'is above'], ['>=', 'is at least'], ['==', 'is'], ['!=', 'is not'], ['changes', 'changes'], ['grows', 'rises'], ['shrinks', 'falls'], ['falls', 'falls by %'], ['rises', 'rises by %']];
const textOps: [string, string][] = [['has', 'contains'], ['lacks', 'does not contain'], ['is', 'is exactly'], ['differs', 'changes']];
const itemOps: [string, string][] = [['any', 'appear'], ['titled', 'appear with the word']];

const opsOf = (field: string, numeric: boolean) => (field === 'items' ? itemOps : field === 'text' || field === 'added' || field === 'removed' ? textOps.slice(0, 2) : field === 'tag' ? [['has', 'is']] as [string, string][] : numeric ? numberOps : [...textOps, ...numberOps]);

const words: Record<string, string> = { text: 'the text', added: 'new text', removed: 'removed text', items: 'new items', tag: 'a tag of the source' };

/** Builder builds a condition from rows, as far as rows can say it. */
export function Builder({ value: text, set, fields, numeric }: { value: string; set: (t: string) => void; fields: string[]; numeric: (field: string) => boolean }) {
  const [typed, keep] = useState(() => read(text)); // a number that is being typed is no number yet
  const parsed = typed && write(typed.rows, typed.any) === text.trim() ? typed : read(text);
  if (!parsed) return <p class="small dim">Rows cannot express this condition; edit it as text.</p>;
  const { rows, any } = parsed;
  const change = (next: Row[], or = any) => {
    keep({ rows: next, any: or });
    set(write(next, or));
  };
  const edit = (i: number, to: Partial<Row>) => change(rows.map((r, j) => (i === j ? { ...r, ...to } : r)));
  const known = [...new Set([...fields, ...rows.map((r) => r.field).filter((f) => !(f in words))])];
  return (
    <div class="stack rows" role="group" aria-label="Rows of the condition">
      {rows.map((r, i) => {
        const ops = opsOf(r.field, numeric(r.field));
        return (
          <div class="row wrap" key={i}>
            {i > 0 && (
              <select class="input" aria-label={`How row ${i + 1} is joined`} value={any ? 'or' : 'and'} onChange={(e) => change(rows, e.currentTarget.value === 'or')}><option>and</option><option>or</option></select>
            )}
            <select class="input" aria-label={`Field of row ${i + 1}`} value={r.field} onChange={(e) => { const f = e.currentTarget.value; edit(i, { field: f, op: opsOf(f, numeric(f))[0][0], value: '' }); }}>
              {known.map((f) => <option key={f} value={f}>{f}</option>)}
              {Object.entries(words).map(([f, w]) => <option key={f} value={f}>{w}</option>)}
            </select>
            <select class="input" aria-label={`Operator of row ${i + 1}`} value={r.op} onChange={(e) => edit(i, { op: e.currentTarget.value })}>{ops.map(([op, w]) => <option key={op} value={op}>{w}</option>)}</select>
            <span class="row">
              {!['changes', 'differs', 'any', 'grows', 'shrinks'].includes(r.op) && <input class="input short" aria-label={`Value of row ${i + 1}`} value={r.value} onInput={(e) => edit(i, { value: e.currentTarget.value })} />}
              <button type="button" class="icon-button" aria-label={`Remove row ${i + 1}`} onClick={() => change(rows.filter((_, j) => j !== i))}><Icon name="close" /></button>
            </span>
          </div>
        );
      })}
      <p><Button local kind="ghost" icon="plus" onClick={() => change([...rows, known[0] ? { field: known[0], op: numeric(known[0]) ? '<' : 'has', value: '' } : { field: 'text', op: 'has', value: '' }])}>{rows.length ? 'Add a row' : 'Build a condition'}</Button></p>
    </div>
  );
}
