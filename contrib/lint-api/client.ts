// A typed client of the API, as docs/reference/api.md shows it. It runs against the daemon at the
// URL in its first argument.
import createClient from 'openapi-fetch';
import type { paths } from './schema.js';

const freshet = createClient<paths>({ baseUrl: process.argv[2] });
const added = await freshet.POST('/api/v1/sources', { body: { url: 'https://example.com/', name: 'Example', paused: true } });
if (added.error) throw new Error(added.error.detail);
const { data, error } = await freshet.GET('/api/v1/sources', { params: { query: { limit: 10 } } });
if (error) throw new Error(error.detail);
const names: (string | undefined)[] = (data.items ?? []).map((s) => s.name);
if (names.join() !== 'Example') throw new Error(`the sources are ${names}`);
