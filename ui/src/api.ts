// Requests to the daemon. Every failure is a Problem that says what to do.

export interface ErrorDetail { location?: string; message: string }

/** A Problem is an answer that says no, or no answer at all. */
export class Problem extends Error {
  constructor(
    readonly title: string,
    readonly status: number,
    readonly hint = '',
    readonly errors: ErrorDetail[] = [],
    readonly existing = '', // the source that is there already
  ) {
    super(title);
  }

  /** at returns what is said of one field, such as "body.when". */
  at(field: string): string | undefined {
    return this.errors.find((e) => e.location === field || e.location?.startsWith(field + '.') || e.location?.startsWith(field + '['))?.message;
  }
}

/** Away is the status of a problem without an answer: the daemon cannot be reached. */
export const Away = 0;

type Value = string | number | boolean | undefined | null;
export type Query = Record<string, Value | Value[]>;

/** address returns a path of the API with a query. */
export function address(path: string, query: Query = {}): string {
  const q = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    for (const v of Array.isArray(value) ? value : [value]) {
      if (v !== undefined && v !== null && v !== '') q.append(key, String(v));
    }
  }
  const text = q.toString();
  return '/api/v1' + path + (text ? '?' + text : '');
}

const listeners = new Set<(up: boolean) => void>();

/** onReach calls f with whether the daemon answered, after each request. */
export function onReach(f: (up: boolean) => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

let denied = () => {};

/** onDenied calls f when the daemon does not know who asks. */
export function onDenied(f: () => void): void {
  denied = f;
}

// What the shell has the browser ask for while the script is on its way, by its address.
const early = new Map<string, Promise<[Response, string]>>();
for (const link of document.querySelectorAll<HTMLLinkElement>('link[rel=preload][as=fetch]')) {
  const url = link.href.slice(location.origin.length);
  early.set(url, fetch(url).then(async (r) => [r, await r.text()]));
}

/** earlyAnswers waits for what the shell asked for, but not for long. */
export async function earlyAnswers(most: number): Promise<void> {
  await Promise.race([Promise.allSettled(early.values()), new Promise((done) => setTimeout(done, most))]);
}

/** forgetEarly ends the time in which those answers count as new. */
export const forgetEarly = () => early.clear();

export interface Answer<T> { data: T; etag: string; status: number }

/** ask sends a request and returns its answer, or throws a Problem. */
export async function ask<T>(method: string, url: string, body?: unknown, init: RequestInit = {}): Promise<Answer<T>> {
  const headers = new Headers(init.headers);
  if (body !== undefined) headers.set('Content-Type', 'application/json');
  let response: Response, text: string;
  try {
    const asked = method === 'GET' ? early.get(url) : undefined;
    if (asked) [response, text] = await asked;
    else {
      response = await fetch(url, { ...init, method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
      text = await response.text();
    }
  } catch (err) {
    if ((err as Error).name === 'AbortError') throw err;
    listeners.forEach((f) => f(false));
    throw new Problem('Freshet cannot be reached.', Away, 'It tries again by itself.');
  }
  listeners.forEach((f) => f(true));
  const json = (response.headers.get('Content-Type') ?? '').includes('json');
  if (response.status === 401 && !url.startsWith('/api/v1/session')) denied();
  if (!response.ok) throw problemOf(response, json ? text : '');
  return {
    data: (json && text ? JSON.parse(text) : text) as T,
    etag: response.headers.get('ETag') ?? '',
    status: response.status,
  };
}

function problemOf(response: Response, text: string): Problem {
  let said: { title?: string; detail?: string; hint?: string; errors?: ErrorDetail[]; existing?: string | { id?: string } } = {};
  try {
    if (text) said = JSON.parse(text);
  } catch {
    // What is no JSON has nothing to say.
  }
  const errors = said.errors ?? [];
  const first = errors[0];
  let title = said.detail || said.title || `The answer was ${response.status}.`;
  if (first && (title === 'validation failed' || title === '')) title = first.message;
  const existing = typeof said.existing === 'object' ? said.existing.id : said.existing;
  return new Problem(title, response.status, said.hint ?? '', errors, existing ?? '');
}

/** get reads from the API. */
export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return (await ask<T>('GET', address(path, query), undefined, { signal })).data;
}

/** send writes to the API. */
export async function send<T>(method: string, path: string, body?: unknown, query: Query = {}, etag = ''): Promise<T> {
  return (await ask<T>(method, address(path, query), body, { headers: etag ? { 'If-Match': etag } : {} })).data;
}

/** part is a name as one part of a path. */
export function part(name: string): string {
  return /^\.+$/.test(name) ? '%2E'.repeat(name.length) : encodeURIComponent(name);
}

/** curl returns a request as a line for a shell. */
export function curl(method: string, url: string, body?: unknown): string {
  const quote = (s: string) => "'" + s.replaceAll("'", "'\\''") + "'";
  const parts = ['curl'];
  if (method !== 'GET') parts.push('-X', method);
  if (body !== undefined) parts.push('-H', quote('Content-Type: application/json'), '-d', quote(JSON.stringify(body)));
  parts.push(quote(location.origin + url));
  return parts.join(' ');
}
