// Holds the OpenAPI description that a daemon serves against the recommended rules of two
// independent linters. Usage: node lint.mjs PATH-OF-FRESHET
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
  const run = (...args) => spawnSync('npx', ['--no-install', ...args], { stdio: 'inherit', env: { ...process.env, REDOCLY_TELEMETRY: 'off' } }).status !== 0;
  failed = run('spectral', 'lint', 'openapi.json', '--fail-severity', 'hint');
  failed = run('redocly', 'lint', 'openapi.json', '--extends', 'recommended', '--max-problems', '1000') || failed;
} finally {
  daemon.removeAllListeners('exit');
  daemon.kill('SIGINT');
  await new Promise((ended) => daemon.on('exit', ended));
  rmSync(dir, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);
