// Actions as lines of the freshet command.

/** quote makes one word of a shell of a text. */
export const quote = (s: string) => (/^[\w@%+=:,./-]+$/.test(s) ? s : "'" + s.replaceAll("'", "'\\''") + "'");

/** flags are those of freshet add and freshet edit, by the field of a source that they set. */
const flags: Record<string, string> = {
  url: 'url', name: 'name', level: 'level', min_gap: 'min-gap', max_gap: 'max-gap', strategy: 'strategy', life: 'life', urgency: 'urgency', weight: 'weight', noise: 'noise', suspect: 'suspect', robots: 'robots',
};

/** resets are the values that set a field back, where the empty one does not. */
const resets: Record<string, string> = { min_gap: '0', max_gap: '0', weight: '1' };

/** chain writes how a page is read: a selector as a flag, more as a document. */
function chain(fields: Record<string, unknown>): [string, string] {
  const { read, extract, items } = fields as { read?: unknown[] | null; extract?: unknown; items?: unknown };
  if (!('read' in fields) && !extract && !items) return ['', ''];
  if (!extract && !items) {
    if (!read?.length) return [" --css ''", ''];
    const only = read.length === 1 ? (read[0] as { css?: unknown; jsonpath?: unknown }) : {};
    if (typeof only.css === 'string') return [' --css ' + quote(only.css), ''];
    if (typeof only.jsonpath === 'string') return [' --jsonpath ' + quote(only.jsonpath), ''];
  }
  const document = JSON.stringify({ ...(read?.length && { read }), ...(extract ? { extract } : {}), ...(items ? { items } : {}) });
  return [' --chain -', ` <<'END'\n${document}\nEND`];
}

/** sourceLine is freshet add or freshet edit with what is set; null sets a field back. */
export function sourceLine(verb: 'add' | 'edit', what: string, fields: Record<string, unknown>): string {
  let line = `freshet ${verb} ${quote(what)}`;
  for (const [key, flag] of Object.entries(flags)) {
    if (fields[key] !== undefined) line += ` --${flag} ${quote(fields[key] === null ? resets[key] ?? '' : String(fields[key]))}`;
  }
  const tags = fields.tags as string[] | undefined;
  if (tags) line += tags.length ? tags.map((t) => ' --tag ' + quote(t)).join('') : " --tag ''";
  const { request, render, keep } = fields as { request?: unknown; render?: unknown; keep?: { age?: string | null; versions?: number | null } };
  if (request !== undefined) line += ` --request ${quote(JSON.stringify(request ?? {}))}`;
  if (render !== undefined) line += render === true ? ' --render' : ` --render=${quote(render === null ? 'false' : JSON.stringify(render))}`;
  if (keep?.age !== undefined) line += ` --keep-age ${quote(keep.age ?? '0')}`;
  if (keep?.versions !== undefined) line += ` --keep-versions ${keep.versions ?? 0}`;
  const [flag, document] = chain(fields);
  return line + flag + document;
}

/** queryLine is freshet query add or edit with what is set. What the flags cannot say, such as a digest as JSON, is left to curl. */
export function queryLine(verb: 'add' | 'edit', what: string, body: Record<string, unknown>): string {
  let line = `freshet query ${verb} ${quote(what)}`;
  const scope = (body.scope ?? {}) as { tags?: string[]; sources?: string[] };
  const window = (typeof body.window === 'object' ? body.window ?? {} : { over: body.window }) as Record<string, unknown>;
  const all: Record<string, unknown> = { when: body.when, value: body.value, digest: body.digest, quiet: body.quiet, rate: body.rate, repeat: body.repeat, trigger: body.trigger, by: window.by, over: window.over, for: window.for, lasting: window.lasting, silent: window.silent };
  if (verb === 'edit' && body.name !== undefined) all.name = body.name;
  for (const [flag, v] of Object.entries(all)) if (typeof v === 'string') line += ` --${flag} ${quote(v)}`;
  for (const t of scope.tags ?? []) line += ' --tag ' + quote(t);
  for (const s of scope.sources ?? []) line += ' --source ' + quote(s);
  return line;
}

/** sinkLine is freshet sink add or edit with what is set. */
export function sinkLine(verb: 'add' | 'edit', name: string, body: Record<string, unknown>): string {
  let line = `freshet sink ${verb} ${quote(name)}`;
  if (body.url) line += verb === 'add' ? ' ' + quote(String(body.url)) : ' --url ' + quote(String(body.url));
  if (body.kind) line += ' --kind ' + quote(String(body.kind));
  for (const [flag, key] of [['query', 'queries'], ['tag', 'tags'], ['source', 'sources']]) {
    for (const v of (body[key] as string[] | undefined) ?? []) line += ` --${flag} ${quote(v)}`;
  }
  for (const [flag, key] of [['set', 'settings'], ['header', 'headers']]) {
    for (const [k, v] of Object.entries((body[key] as Record<string, string> | undefined) ?? {})) line += ` --${flag} ${quote(`${k}=${v}`)}`;
  }
  if (body.template) line += ' --template ' + quote(String(body.template));
  return line;
}
