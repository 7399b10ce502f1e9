// Runs the recipes for Node-RED and n8n: a daemon polls a page that changes. Node-RED itself receives the change. Of n8n,
// which is too large to install for this, the library that reads workflows checks the recipe and computes its expression
// from the change. The dashboard fits the types of Grafana. Run it with: make automation
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const { AssignmentCollectionValueSchema, INodesSchema, Workflow } = createRequire(import.meta.url)('n8n-workflow') // as a module it does not load
const dir = mkdtempSync(join(tmpdir(), 'freshet-automation-'))
const children = []
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true })
})

// started runs a program until it says something, and returns what it said.
async function started(wanted, command, args, env = {}) {
  const child = spawn(command, args, { cwd: dir, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  const program = { said: '', until: (text) => new Promise((done, failed) => {
    const late = setTimeout(() => failed(new Error(`${command} did not say ${text} within five minutes:\n${program.said}`)), 300_000)
    const look = () => {
      if (!program.said.match(text)) return
      clearTimeout(late)
      done(program.said.match(text))
    }
    for (const stream of [child.stdout, child.stderr]) stream.on('data', look)
    child.on('exit', (code) => failed(new Error(`${command} ended with ${code}:\n${program.said}`)))
    look()
  }) }
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => { program.said += chunk })
  await program.until(wanted)
  return program
}

// listening returns the port of a server on this machine.
const listening = (server) => new Promise((done) => server.listen(0, '127.0.0.1', () => done(server.address().port)))

async function freePort() {
  const server = createServer()
  const port = await listening(server)
  await new Promise((done) => server.close(done))
  return port
}

const port = await freePort()
copyFileSync('node-red.json', join(dir, 'flows.json'))
writeFileSync(join(dir, 'settings.js'), `module.exports = { uiHost: '127.0.0.1', uiPort: ${port}, flowFile: 'flows.json', telemetry: { enabled: false } }`)
const nodeRed = await started(/Started flows/, process.execPath, [resolve('node_modules/node-red/red.js'), '--userDir', dir, '--settings', join(dir, 'settings.js')])

let version = 0
let received
const change = new Promise((done) => { received = done })
const page = createServer(async (req, res) => {
  const chunks = []
  for await (const chunk of req) chunks.push(chunk)
  if (req.method === 'POST') received(JSON.parse(Buffer.concat(chunks)))
  res.setHeader('content-type', 'text/html')
  res.end(req.url === '/page' ? `<p>version ${++version}` : '')
})
const at = `http://127.0.0.1:${await listening(page)}`
writeFileSync(join(dir, 'freshet.yaml'), `
budget: 5/s
policy: uniform
source_gap: 0s
source_share: 100%
hosts: {delay: 0s, share: 100%}
allow_cidr: [127.0.0.0/8]
sources: [{id: page, url: "${at}/page"}]
sinks:
  - {name: node-red, kind: json, url: "http://127.0.0.1:${port}/freshet"}
  - {name: n8n, kind: json, url: "${at}/webhook/freshet"}
`)
await started(/listening on/, process.argv[2], ['serve', '--config', join(dir, 'freshet.yaml'), '--data', join(dir, 'data'), '--listen', '127.0.0.1:0'])
await nodeRed.until(/\[debug:told\]\s+page: .*version/)
console.log('ok      Node-RED')

const recipe = JSON.parse(readFileSync('n8n.json'))
INodesSchema.parse(recipe.nodes)
const [text] = AssignmentCollectionValueSchema.parse(recipe.nodes[1].parameters.assignments).assignments
const type = { description: { properties: [] } }
const workflow = new Workflow({ ...structuredClone(recipe), nodeTypes: { getByNameAndVersion: () => type } })
assert.deepEqual(workflow.getChildNodes('Change'), ['Text'])
const input = [{ json: { body: await change } }]
assert.match(workflow.expression.getParameterValue(text.value, null, 0, 0, 'Text', input, 'manual', {}), /^page: .*version/)
console.log('ok      n8n')

writeFileSync('dashboard.ts', `import type { Dashboard } from '@grafana/schema'
type Written<T> = T extends string ? \`\${T}\` : T extends object ? { [K in keyof T]: Written<T[K]> } : T // constants as texts
export const dashboard: Written<Dashboard> = ${readFileSync('../../contrib/grafana/freshet.json')}`)
execFileSync('npx', ['--no-install', 'tsc', '--noEmit', '--skipLibCheck', '--strict', '--module', 'nodenext', 'dashboard.ts'], { stdio: 'inherit' })
console.log('ok      Grafana')
process.exit(0)
