import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findIdToken } from '../../packages/cli/src/connection/connection.ts'
import { configureProxy } from '../../packages/cli/src/connection/session.ts'
import type { Event } from '../../packages/server/src/features/events/contract.ts'
import { openShell, type Ran, type Shell } from '../cli/support.ts'
import { startApp } from '../support/app/app.ts'
import { exchangeParameters, sendForm } from '../support/app/workloads.ts'
import { ecKey } from '../support/keys/pem.ts'
import { startPlatforms } from '../support/network/platforms.ts'

const publicUrl = 'https://keys.example.com'

const platforms = await startPlatforms()
const { fetch, env } = platforms
const server = await startApp({
  fetch,
  config: { publicUrl, refusalDelayMs: 0 },
  http: { publicUrl },
})
platforms.forwardTo(await server.listen())
/** The shells of an admin and of a workload, which has no API key. */
const admin = openShell(() => ({ ...env, PUBRING_URL: publicUrl, PUBRING_API_KEY: server.admin }))
const workload = openShell(() => env)

/** A page, and the values that it shows. */
function openPage(name: string) {
  const text = readFileSync(join(import.meta.dirname, `../../${name}.md`), 'utf8')
  const find = (pattern: RegExp) => {
    const [, value] = pattern.exec(text) ?? []
    if (value === undefined) throw new Error(`${name}.md does not show ${pattern}`)
    return value
  }
  return {
    find,
    /** The value of a key of YAML, or of the variable with this name in a list of Kubernetes. */
    value: (key: string) =>
      find(
        new RegExp(`^ *(?:- name: |- |export )?${key}(?::|\\n *value:|=) *"?([^"\\n]+)"?$`, 'm'),
      ),
    /** The words of the first command that begins so. */
    command: (start: string) => {
      const joined = text.replaceAll(/ \\\n */g, ' ')
      const [, line = ''] =
        new RegExp(`^ *(?:- |- run: |# An admin, once: )?(${start} .*)$`, 'm').exec(joined) ?? []
      expect(line, start).not.toBe('')
      return line
    },
  }
}
type Page = ReturnType<typeof openPage>
/** Has the commands that are the same for every platform. */
const accessRules = openPage('docs/access-rules')

/** Runs a command of a page as a shell would: variables are replaced, and quotes removed. */
function run(shell: Shell, line: string, env: Record<string, string> = {}): Promise<Ran> {
  const [, ...words] = [...line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) =>
    word
      .replaceAll(/\$(\w+)/g, (_, name) => env[name] ?? '')
      .replaceAll(/["']/g, '')
      .replace(/^(?:\/keys\/)?public\.pem$/, join(shell.folder, 'public.pem')),
  )
  return shell.pubring(words, { env })
}

/** Steps that are the same on every page. `identify` makes the variables of the workload. */
async function followPage(
  page: Page,
  { add, identify }: { add: string; identify: () => Record<string, string> },
  workloadIs: { issuer: string; subject: string; source: string },
): Promise<void> {
  const created = await run(admin, page.command('pubring access-rule create'))
  expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) })
  const key = ecKey()
  workload.file('public.pem', key.publicKeyPem)
  const env = identify()
  const added = await run(workload, add, env)
  expect(added.stderr).toMatch(`No API key is set: ${workloadIs.source} is exchanged for one.\n`)
  expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) })
  const kid = added.stdout.trim()

  const path = `/v1/projects/${server.project.id}`
  const jwks = await server.send('GET', `${path}/.well-known/jwks.json`)
  expect(jwks.json().keys).toContainEqual(expect.objectContaining({ kid }))
  const listed = await run(admin, accessRules.command('pubring events'))
  const events: Event[] = JSON.parse(listed.stdout)
  const { issuer, subject } = workloadIs
  const actor = { workload: { issuer, subject } }
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'key.created', subject: { type: 'key', id: kid } }),
  )
  for (const type of ['token.exchanged', 'key.created']) {
    expect(events.findLast((event) => event.type === type)).toMatchObject({ actor })
  }

  const apiKey = await exchange(env)
  const list = () => server.send('GET', `${path}/jwt-keys`, { headers: { 'x-api-key': apiKey } })
  expect((await list()).statusCode).toBe(200)
  const update = accessRules.command('pubring access-rule update')
  const end = update.replace(/"[^"]*"/, created.stdout.trim())
  expect((await run(admin, end)).code).toBe(0)
  expect((await list()).statusCode).toBe(401)
  const refused = await run(workload, add, identify())
  expect(refused).toMatchObject({ code: 4, stdout: '' })
  expect(refused.stderr).toContain(`did not exchange ${workloadIs.source}`)
  expect(refused.stderr).toContain(JSON.stringify(subject))
}

/** An API key of the workload, for requests that do not get another one after a 401. */
async function exchange(env: Record<string, string>): Promise<string> {
  const restoreProxy = configureProxy(platforms.env)
  const token = (await findIdToken(env, publicUrl)?.read()) ?? ''
  restoreProxy()
  const form = new URLSearchParams({ ...exchangeParameters, subject_token: token })
  const response = await sendForm(server, form.toString())
  expect(response.statusCode, response.body).toBe(200)
  return response.json().access_token
}

describe('GitHub Actions', () => {
  const page = openPage('docs/workloads/github-actions')
  const job = (mayWriteIdToken: boolean) => ({
    ...platforms.githubJob({ mayWriteIdToken }),
    PUBRING_URL: page.value('PUBRING_URL'),
    PUBRING_PROJECT: page.value('PUBRING_PROJECT'),
  })

  test('the page does what it says', async () => {
    const identify = () => job(page.value('id-token') === 'write')
    await followPage(
      page,
      { add: page.command('pubring key add'), identify },
      {
        issuer: 'https://token.actions.githubusercontent.com',
        subject: 'repo:acme/orders:ref:refs/heads/main',
        source: 'the token of GitHub Actions',
      },
    )
  })

  test('a job without the permission gets the advice to ask for it', async () => {
    const ran = await run(workload, page.command('pubring key add'), job(false))
    expect(ran).toMatchObject({ code: 4, stdout: '' })
    expect(ran.stderr).toContain('permissions: id-token: write')
  })

  test('a private repository is named by its id', async () => {
    const ids = ['--condition', 'repository_id=74']
    const create = (...args: string[]) =>
      admin.pubring(['access-rule', 'create', '--project', 'payments', ...args])
    const unknown = await create('--github', 'acme/secret')
    expect(unknown).toMatchObject({ code: 6, stdout: '' })
    expect(unknown.stderr).toMatch(/api\.github\.com answered 404[\s\S]*--condition repository_id=/)
    const made = await create('--github', 'acme/secret', ...ids, '--json')
    expect(JSON.parse(made.stdout).conditions).toEqual({
      repository_id: '74',
      ref: 'refs/heads/main',
    })
    await admin.pubring(['access-rule', 'delete', 'acme/secret'])
  })
})

describe('GitLab CI', () => {
  const page = openPage('docs/workloads/gitlab-ci')
  const job = (idTokens: Record<string, string>) => ({
    ...platforms.gitlabJob(idTokens),
    PUBRING_URL: page.value('PUBRING_URL'),
    PUBRING_PROJECT: page.value('PUBRING_PROJECT'),
  })

  test('the page does what it says', async () => {
    const name = page.find(/id_tokens:\n {4}(\w+):/)
    const identify = () => job({ [name]: page.value('aud') })
    await admin.pubring(['access-rule', 'delete', 'acme/orders'])
    await followPage(
      page,
      { add: page.command('pubring key add'), identify },
      {
        issuer: 'https://gitlab.com',
        subject: 'project_path:acme/orders:ref_type:branch:ref:main',
        source: 'the token in PUBRING_ID_TOKEN',
      },
    )
  })

  test('a job without id_tokens gets the advice to define them', async () => {
    const ran = await run(workload, page.command('pubring key add'), job({}))
    expect(ran).toMatchObject({ code: 4, stdout: '' })
    expect(ran.stderr).toContain(`id_tokens: PUBRING_ID_TOKEN: aud: ${publicUrl}`)
  })

  test('the job with a token for another service is shown its audience', async () => {
    const env = job({ PUBRING_ID_TOKEN: 'https://vault.example.com' })
    const ran = await run(workload, page.command('pubring key add'), env)
    expect(ran).toMatchObject({ code: 4, stdout: '' })
    expect(ran.stderr).toContain('"aud":"https://vault.example.com"')
  })
})

test('the page on Kubernetes does what it says', async () => {
  const page = openPage('docs/workloads/kubernetes')
  const [mountPath, path] = [page.value('mountPath'), page.value('path')]
  const file = page.value('PUBRING_TOKEN_FILE')
  expect(file).toBe(`${mountPath}/${path}`)
  const folder = join(workload.folder, 'projected')
  const identify = () => {
    platforms.projectToken(folder, { audience: page.value('audience'), path })
    return {
      PUBRING_URL: page.value('PUBRING_URL'),
      PUBRING_PROJECT: page.value('PUBRING_PROJECT'),
      PUBRING_TOKEN_FILE: file.replace(mountPath, folder),
    }
  }
  const command = page.find(/^ *command: \[(pubring, key, add, .*)\]$/m)
  await followPage(
    page,
    { add: command.replaceAll(', ', ' '), identify },
    {
      issuer: 'https://kubernetes.default.svc.cluster.local',
      subject: 'system:serviceaccount:payments:orders',
      source: `the token in ${folder}/${path} (PUBRING_TOKEN_FILE)`,
    },
  )

  // The other way of the page: the keys are in the rule.
  const saved = await platforms.fetch(page.find(/"jwks_uri": "(.*)"/))
  const jwks = admin.file('jwks.json', await saved.text())
  const create = `${page.command('pubring access-rule create')} --jwks-file ${jwks}`
  expect((await run(admin, create)).code).toBe(0)
  const env = identify()
  const list = () => workload.pubring(['key', 'list'], { env })
  expect((await list()).code).toBe(0)
  platforms.projectToken(folder, { audience: 'https://kubernetes.default.svc', path })
  expect((await list()).code).toBe(4)
})

test('the page on SPIFFE does what it says', async () => {
  const page = openPage('docs/workloads/spiffe')
  const folder = join(workload.folder, 'svid')
  const file = page.find(/^export PUBRING_TOKEN_FILE=(.*)$/m)
  const fileName = page.find(/jwt_svid_file_name = "(.*?)"/)
  expect(file).toBe(`${page.find(/cert_dir += "(.*)"/)}/${fileName}`)
  const identify = () => {
    platforms.writeSvid(folder, { audience: page.find(/jwt_audience = "(.*?)"/), fileName })
    return {
      PUBRING_URL: page.value('PUBRING_URL'),
      PUBRING_PROJECT: page.value('PUBRING_PROJECT'),
      PUBRING_TOKEN_FILE: join(folder, fileName),
    }
  }
  await followPage(
    page,
    { add: page.command('pubring key add'), identify },
    {
      issuer: page.find(/jwt_issuer += "(.*)"/),
      subject: 'spiffe://example.org/ns/payments/sa/orders',
      source: `the token in ${folder}/${fileName} (PUBRING_TOKEN_FILE)`,
    },
  )
})
