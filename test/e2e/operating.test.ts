import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { highLimits } from '../support/server/client.ts'
import { freePort, startServer, temporaryFolder } from '../support/server/process.ts'

const project = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(project, path), 'utf8')
const page = read('docs/operating.md')
const { folder } = temporaryFolder()

test('the shell blocks of docs/operating.md run in one shell', async () => {
  const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text ?? '')
  expect(blocks.length).toBeGreaterThan(5)
  const script = `trap 'kill -9 "$server" 2>/dev/null || :' EXIT\n${blocks.join('')}`
  const env = {
    PATH: `${join(project, 'deploy')}:${process.env.PATH}`,
    PUBRING_PORT: String(await freePort()),
    PUBRING_METRICS_PORT: String(await freePort()),
  }
  const { stdout, stderr } = await promisify(execFile)('sh', ['-eu', '-c', script], {
    cwd: folder,
    env,
  })
  expect(stdout).toMatch(/pubring_storage_readable 1\npubring_storage_writable 1\n/)
  expect(stdout).toMatch(/whole {2}backup\.db\n/)
  expect(stdout).toMatch(/whole {2}\.\/data\/pubring\.db\n/)
  expect(stderr).toMatch(/backup\.db contains every change acknowledged so far, and is whole/)
  expect(stderr).toMatch(/is restored from backup\.db/)
})

describe('metrics', () => {
  /** The metric names of a server. */
  async function names(): Promise<Set<string>> {
    const port = await freePort()
    const env = { ...highLimits, PUBRING_METRICS_PORT: String(port) }
    const { folder: where, remove: removeAll } = temporaryFolder()
    const server = await startServer(where, env)
    const keys = `${server.url}/v1/projects/default/jwt-keys`
    await fetch(keys, {
      method: 'POST',
      headers: { 'X-Api-Key': server.apiKey, 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'n', algorithm: 'RSA', publicKeyPem: 'none' }),
    })
    await fetch(`${server.url}/v1/projects/default/.well-known/jwks.json`)
    await delay(50)
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    server.signal('SIGTERM')
    expect(await server.ended).toBe(0)
    removeAll()
    return new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name ?? ''))
  }
  const mentioned = (text: string) =>
    [...text.matchAll(/\b(?:pubring|nodejs|process)_[a-z0-9_]*[a-z0-9]\b/g)].map(([name]) =>
      name.replace(/_(bucket|count|sum)$/, ''),
    )

  test('the page, the alerts and the dashboard name only existing metrics, and the page all of ours', async () => {
    const there = await names()
    const list = read('docs/scraping.md')
    const table = list.slice(list.indexOf('| metric |'), list.indexOf('**Memory**'))
    const rules = read('deploy/prometheus-rules.yaml')
    const dashboard = read('deploy/grafana-dashboard.json')
    for (const text of [table, rules, dashboard]) {
      expect(mentioned(text).length).toBeGreaterThan(5)
      expect(mentioned(text).filter((name) => !there.has(name))).toEqual([])
    }
    const ours = [...there].filter((name) => name.startsWith('pubring_'))
    expect(ours.filter((name) => !table.includes(`\`${name}\``))).toEqual([])
  })

  test('the dashboard has the fields that Grafana requires', () => {
    const { uid, title, schemaVersion, panels, templating } = JSON.parse(
      read('deploy/grafana-dashboard.json'),
    )
    expect({ uid, title }).toEqual({ uid: 'pubring', title: 'Pubring' })
    expect(schemaVersion).toBeGreaterThanOrEqual(36)
    expect(templating.list).toMatchObject([
      { name: 'datasource', type: 'datasource' },
      { name: 'job', type: 'query' },
      { name: 'instance', type: 'query' },
    ])
    const ids = panels.map(({ id }: { id: number }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    for (const panel of panels) {
      const { x, w } = panel.gridPos
      expect(x + w).toBeLessThanOrEqual(24)
      if (panel.type === 'row') continue
      expect(panel.datasource).toEqual({ type: 'prometheus', uid: `\${datasource}` })
      const selector = 'job=~"$job",instance=~"$instance"}'
      for (const target of panel.targets) expect(target.expr).toContain(selector)
    }
  })
})
