// Parts of the settings of a source: the values that are extracted, how it is requested, how it is rendered.
import { useState } from 'preact/hooks';
import { tidy } from './format';
import { may } from './me';
import { Button, Field } from './parts';
import { Comparison } from './pictures';

export type Fields = Record<string, unknown>;

/** lineOf writes how a value is found in one line, such as css .price | number. */
function lineOf(how: unknown): string {
  if (typeof how === 'string') return how;
  const { as, product, json, ...rest } = how as Record<string, unknown>;
  if (product) return 'product ' + String(product);
  const [kind, arg] = Object.entries(rest)[0] ?? (json ? ['json', json] : ['text', '']);
  if (Object.keys(rest).length > 1 || typeof arg === 'object') return JSON.stringify(how);
  return `${kind} ${String(arg)}${as ? ' | ' + String(as) : ''}`;
}

/** howOf reads what lineOf wrote. */
export function howOf(line: string): unknown {
  const t = line.trim();
  if (t.startsWith('{')) {
    try {
      return JSON.parse(t) as unknown;
    } catch {
      return t;
    }
  }
  const [, product] = /^product (\w+)$/.exec(t) ?? [];
  return product ? { product, ...(product === 'price' && { as: 'number' }) } : t;
}

/** Extracted edits the named values that are kept with each version. */
export function Extracted({ value, set, now }: { value: Fields; set: (f: Fields) => void; now?: Fields }) {
  const [name, call] = useState(''), [how, find] = useState('');
  const add = () => {
    set({ ...value, [name.trim()]: howOf(how) });
    call('');
    find('');
  };
  return (
    <>
      {Object.entries(value).map(([n, h]) => (
        <div class="row field-row" key={n}>
          <b class="one">{tidy(n)}</b>
          <input class="input code grow" aria-label={`How ${n} is found`} defaultValue={lineOf(h)} onChange={(e) => set({ ...value, [n]: howOf(e.currentTarget.value) })} />
          <span class="mono dim one">{now && n in now ? tidy(JSON.stringify(now[n])) : ''}</span>
          {may('write') && <Button local kind="ghost" icon="close" label={`Remove ${n}`} onClick={() => set(Object.fromEntries(Object.entries(value).filter(([k]) => k !== n)))} />}
        </div>
      ))}
      {may('write') && (
        <div class="row wrap field-row">
          <input class="input short" aria-label="Name of a new value" placeholder="price" value={name} onInput={(e) => call(e.currentTarget.value)} />
          <input class="input code grow" aria-label="How the new value is found" placeholder="css .price | number" value={how} onInput={(e) => find(e.currentTarget.value)} />
          <Button local kind="ghost" icon="plus" disabled={!/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name.trim()) || !how.trim()} onClick={add}>Add</Button>
        </div>
      )}
      <p class="small dim">Alerts can compare a value, and a chart shows it. Examples: css .price | number, jsonpath $.price, regex Total: (\d+) | number, product price.</p>
    </>
  );
}

const lines = (o: unknown) => Object.entries((o ?? {}) as Fields).map(([k, v]) => `${k}: ${String(v)}`).join('\n');
const object = (text: string) => {
  const all = text.split('\n').map((l) => /^\s*([^:]+?)\s*:\s*(.*?)\s*$/.exec(l)).filter((m) => m !== null);
  return all.length ? Object.fromEntries(all.map(([, k, v]) => [k, v])) : null;
};

/** Asking edits how a page is requested: headers, cookies, a login. What it does not show stays. */
export function Asking({ value, set, wrong }: { value: Fields; set: (f: Fields) => void; wrong?: string }) {
  const auth = (value.auth ?? {}) as { basic?: { user?: string; password?: string }; bearer?: string };
  const way = auth.basic ? 'basic' : auth.bearer ? 'bearer' : value.login ? 'login' : '';
  const edit = (more: Fields) => set(Object.fromEntries(Object.entries({ ...value, ...more }).filter(([, v]) => v !== null && v !== '')));
  const choose = (to: string) => edit({ auth: to === 'basic' ? { basic: { user: '', password: '' } } : to === 'bearer' ? { bearer: '' } : null, ...(to !== 'login' && { login: null }) });
  return (
    <>
      <div class="form">
        <Field label="Log in with">
          <select class="input" value={way} onChange={(e) => choose(e.currentTarget.value)}>
            <option value="">nothing</option><option value="basic">user and password (HTTP)</option><option value="bearer">a token</option>{way === 'login' && <option value="login">a form</option>}
          </select>
        </Field>
        {way === 'basic' && <Field label="User"><input class="input" autocomplete="off" value={auth.basic?.user ?? ''} onInput={(e) => edit({ auth: { basic: { ...auth.basic, user: e.currentTarget.value } } })} /></Field>}
        {way === 'basic' && <Field label="Password" help="stored with freshet settings secret set NAME"><input class="input" autocomplete="off" placeholder="${secret:NAME}" value={auth.basic?.password ?? ''} onInput={(e) => edit({ auth: { basic: { ...auth.basic, password: e.currentTarget.value } } })} /></Field>}
        {way === 'bearer' && <Field label="Token" help="stored with freshet settings secret set NAME"><input class="input" autocomplete="off" placeholder="${secret:NAME}" value={auth.bearer ?? ''} onInput={(e) => edit({ auth: { bearer: e.currentTarget.value } })} /></Field>}
        <Field label="Language"><input class="input" placeholder="any" value={String(value.language ?? '')} onInput={(e) => edit({ language: e.currentTarget.value.trim() })} /></Field>
        <Field label="Timeout"><input class="input" placeholder="as the settings say" value={String(value.timeout ?? '')} onInput={(e) => edit({ timeout: e.currentTarget.value.trim() })} /></Field>
        <Field label="Method"><select class="input" value={String(value.method ?? 'GET')} onChange={(e) => edit({ method: e.currentTarget.value === 'GET' ? null : e.currentTarget.value })}>{['GET', 'POST', 'PUT'].map((m) => <option key={m}>{m}</option>)}</select></Field>
      </div>
      <div class="form">
        <Field label="Headers" help="one on each line, as Name: value"><textarea class="input code" rows={2} defaultValue={lines(value.headers)} onChange={(e) => edit({ headers: object(e.currentTarget.value) })} /></Field>
        <Field label="Cookies" help="one on each line, as name: value"><textarea class="input code" rows={2} defaultValue={lines(value.cookies)} onChange={(e) => edit({ cookies: object(e.currentTarget.value) })} /></Field>
      </div>
      {wrong && <p class="wrong" role="alert">{tidy(wrong)}</p>}
    </>
  );
}

/** Rendering edits whether a page is shown in a browser before it is read. */
export function Rendering({ value, set, wrong }: { value: unknown; set: (r: unknown) => void; wrong?: string }) {
  const on = value !== undefined && value !== null && value !== false, how = (typeof value === 'object' ? value ?? {} : {}) as Fields;
  const edit = (more: Fields) => {
    const next = Object.fromEntries(Object.entries({ ...how, ...more }).filter(([, v]) => v !== '' && v !== false && v !== null));
    set(Object.keys(next).length ? next : true);
  };
  return (
    <>
      <label class="row"><input type="checkbox" checked={on} onChange={(e) => set(e.currentTarget.checked ? true : null)} /> Open the page in a browser, so that its JavaScript runs</label>
      {on && (
        <div class="form">
          <Field label="Wait for" help="a CSS selector"><input class="input code" value={String(how.wait_for ?? '')} onInput={(e) => edit({ wait_for: e.currentTarget.value })} /></Field>
          <Field label="Wait at most"><select class="input" value={String(how.wait ?? '')} onChange={(e) => edit({ wait: e.currentTarget.value })}>{[...new Set(['', '5s', '10s', '20s', '1m', String(how.wait ?? '')])].map((w) => <option key={w} value={w}>{w || '10s, the default'}</option>)}</select></Field>
          <Field label="Cookie banner"><select class="input" value={String(how.consent ?? '')} onChange={(e) => edit({ consent: e.currentTarget.value })}><option value="">leave it</option><option value="reject">reject</option><option value="accept">accept</option></select></Field>
          <label class="row"><input type="checkbox" checked={how.screenshot === true} onChange={(e) => edit({ screenshot: e.currentTarget.checked })} /> Keep a screenshot of each version</label>
          <Comparison how={how} edit={edit} />
        </div>
      )}
      {wrong && <p class="wrong" role="alert">{tidy(wrong)}</p>}
    </>
  );
}

/** Choice is a select of a few values, and of what is set if that is none of them. */
export function Choice({ label, help, wrong, value, options, set }: { label: string; help?: string; wrong?: string; value: string; options: [string, string][]; set: (v: string) => void }) {
  const [own, type] = useState(false);
  const listed = options.some(([v]) => v === value);
  return (
    <Field label={label} help={help} wrong={wrong}>
      <select class="input" value={own ? '…' : value} onChange={(e) => { const v = e.currentTarget.value; type(v === '…'); if (v !== '…') set(v); }}>
        {!listed && !own && <option value={value}>{value}</option>}
        {options.map(([v, word]) => <option key={v} value={v}>{word}</option>)}
        <option value="…">another…</option>
      </select>
      {own && <input class="input code" aria-label={label + ', another'} value={value} onInput={(e) => set(e.currentTarget.value)} />}
    </Field>
  );
}
