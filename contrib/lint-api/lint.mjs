// Checks the OpenAPI description that a daemon serves with two linters, and with two generators
// of clients: the one for TypeScript talks to the daemon. Usage: node lint.mjs PATH-OF-FRESHET
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const dir = mkdtempSync(join(tmpdir(), 'freshet-lint-'));
const daemon = spawn(process.argv[2], ['serve', '--data', dir, '--listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
let failed = true;
try {
  const base = await new Promise((found, lost) => {
    createInterface({ input: daemon.stdout }).on('line', (line) => {
      const at = line.match(/listening on (\S+)/);
      if (at) found(at[1]);
    });
    daemon.on('exit', () => lost(new Error('the daemon ended')));
  });
  writeFileSync('openapi.json', await (await fetch(base + '/openapi.json')).text());
  const fails = (...args) => spawnSync(args[0], args.slice(1), { stdio: 'inherit', env: { ...process.env, REDOCLY_TELEMETRY: 'off', GOFLAGS: '-mod=mod' } }).status !== 0;
  failed = [
    ['npx', '--no-install', 'spectral', 'lint', 'openapi.json', '--fail-severity', 'hint'],
    ['npx', '--no-install', 'redocly', 'lint', 'openapi.json', '--extends', 'recommended', '--max-problems', '1000'],
    ['npx', '--no-install', 'openapi-typescript', 'openapi.json', '-o', 'schema.d.ts'],
    ['npx', '--no-install', 'tsc', '--strict', '--module', 'nodenext', '--target', 'es2022', 'client.ts'],
    ['node', 'client.js', base],
    ['go', 'mod', 'init', 'api'],
    ['go', 'run', 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2', '-generate', 'types,client', '-package', 'api', '-o', 'api.go', 'openapi.json'],
    ['go', 'mod', 'tidy'],
    ['go', 'vet', '.'],
  ].map((command) => fails(...command)).includes(true);
} finally {
  daemon.removeAllListeners('exit');
  daemon.kill('SIGINT');
  await new Promise((ended) => daemon.on('exit', ended));
  rmSync(dir, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);
