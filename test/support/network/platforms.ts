import { type KeyObject, randomUUID } from 'node:crypto'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { JwsAlgorithm } from '../../../packages/intake/src/algorithms.ts'
import {
  createOutboundFetch,
  type OutboundFetch,
} from '../../../packages/server/src/outbound/outbound.ts'
import { endLater } from '../ending.ts'
import { ecKey, rsaKey } from '../keys/pem.ts'
import { signToken } from '../keys/tokens.ts'
import { rememberSecret } from '../secrets.ts'
import { startConnectProxy } from './connect-proxy.ts'
import { startHttpsServer } from './https-server.ts'
import { jwkOf } from './issuer.ts'
import { forward } from './tls-proxy.ts'

/**
 * The platforms that give workloads tokens, under their own names and with the claims, headers and
 * documents that their documentation describes: one HTTPS server behind a proxy. Pubring stands there
 * as well, at `https://keys.example.com`.
 */
export interface Platforms {
  /** How Pubring reaches them: as with `PUBRING_OUTBOUND_PROXY`, `_CA_FILE` and `_ALLOW`. */
  fetch: OutboundFetch
  /** Variables with which a command reaches them. */
  env: Record<string, string>
  /** Sets where `https://keys.example.com` leads to: `http://127.0.0.1:PORT`. */
  forwardTo(origin: string): void
  /** The variables of a job of GitHub Actions. Those for tokens need `id-token: write`. */
  githubJob(job: { mayWriteIdToken: boolean }): Record<string, string>
  /** The variables of a job of GitLab CI with these `id_tokens`: names and audiences. */
  gitlabJob(idTokens: Record<string, string>): Record<string, string>
  /** Does what the kubelet does for a projected `serviceAccountToken`, now and when it rotates it. */
  projectToken(folder: string, projection: { audience: string; path: string }): void
  /** Does what spiffe-helper does for an entry of `jwt_svids`. */
  writeSvid(folder: string, svid: { audience: string; fileName: string }): void
  close(): Promise<void>
}

/** Public values of examples in the documentation of the platforms. */
export const repository = { id: 74, name: 'acme/orders', owner: { id: 65, login: 'acme' } }
export const gitlabProject = { id: 20, path_with_namespace: 'acme/orders', namespace: { id: 72 } }

const issuers = {
  github: 'https://token.actions.githubusercontent.com',
  gitlab: 'https://gitlab.com',
  kubernetes: 'https://kubernetes.default.svc.cluster.local',
  spire: 'https://oidc-discovery.example.org',
} as const

const runner = 'https://run-actions-1-azure-eastus.actions.githubusercontent.com'

export async function startPlatforms(): Promise<Platforms> {
  let pubring = ''
  const requestToken = rememberSecret('a token', `${randomUUID()}${randomUUID()}`)
  const keys = {
    github: newKey(rsaKey().privateKey, 'RS256'),
    gitlab: newKey(rsaKey().privateKey, 'RS256'),
    kubernetes: newKey(rsaKey().privateKey, 'RS256'),
    spire: newKey(ecKey().privateKey, 'ES256', { use: undefined }),
  }
  const jwks = (name: keyof typeof keys) => ({ keys: [keys[name].jwk] })
  const discovery = (name: keyof typeof issuers, path: string) => ({
    issuer: issuers[name],
    jwks_uri: new URL(path, issuers[name]).href,
  })
  // The API server names the address that it advertises, not the issuer's host.
  const clusterKeys = 'https://192.168.8.2:6443/openid/v1/jwks'
  const wellKnown = '/.well-known/openid-configuration'
  const documents = new Map<string, object>([
    [`${issuers.github}${wellKnown}`, discovery('github', '/.well-known/jwks')],
    [`${issuers.github}/.well-known/jwks`, jwks('github')],
    [`${issuers.gitlab}${wellKnown}`, discovery('gitlab', '/oauth/discovery/keys')],
    [`${issuers.gitlab}/oauth/discovery/keys`, jwks('gitlab')],
    [`${issuers.kubernetes}${wellKnown}`, discovery('kubernetes', clusterKeys)],
    [clusterKeys, jwks('kubernetes')],
    [`${issuers.spire}${wellKnown}`, discovery('spire', '/keys')],
    [`${issuers.spire}/keys`, jwks('spire')],
    ['https://api.github.com/repos/acme/orders', repository],
    ['https://gitlab.com/api/v4/projects/acme%2Forders', gitlabProject],
  ])
  const hosts = ['keys.example.com', ...[...documents.keys(), runner].map((url) => hostOf(url))]
  const names = [...new Set(hosts)] as [string, ...string[]]
  const server = await startHttpsServer(names, (request, response) => {
    const url = `https://${request.headers.host?.replace(/:443$/, '')}${request.url}`
    if (url.startsWith('https://keys.example.com')) return forward(pubring, request, response)
    const document = url.startsWith(runner) ? githubToken(request) : documents.get(url)
    const status = document === undefined ? 404 : 200
    response.writeHead(status, { 'content-type': 'application/json' })
    return response.end(JSON.stringify(document ?? { message: 'Not Found' }))
  })
  const proxy = await startConnectProxy(server.port)
  const address = `http://127.0.0.1:${proxy.port}`
  const trusted = getCACertificates('default')
  setDefaultCACertificates([...trusted, server.ca])

  const mint = (name: keyof typeof keys, claims: object, header: object = { typ: 'JWT' }) => {
    const { privateKey, kid, alg } = keys[name]
    return signToken(privateKey, { ...header, alg, kid }, { iss: issuers[name], ...claims })
  }
  /** https://docs.github.com/actions/reference/openid-connect-reference */
  function githubToken({ headers, url = '' }: IncomingMessage): object | undefined {
    if (headers.authorization?.toLowerCase() !== `bearer ${requestToken}`) return undefined
    const audience = new URL(url, runner).searchParams.get('audience')
    const seconds = Math.floor(Date.now() / 1_000)
    const value = mint('github', {
      jti: randomUUID(),
      sub: 'repo:acme/orders:ref:refs/heads/main',
      aud: audience ?? 'https://github.com/acme',
      ref: 'refs/heads/main',
      ref_type: 'branch',
      repository: repository.name,
      repository_id: String(repository.id),
      repository_owner: repository.owner.login,
      repository_owner_id: String(repository.owner.id),
      event_name: 'push',
      runner_environment: 'github-hosted',
      nbf: seconds - 600,
      exp: seconds + 300,
      iat: seconds,
    })
    return { count: value.length, value }
  }
  return {
    fetch: createOutboundFetch({ allow: names, ca: server.ca, proxy: address }),
    env: { HTTPS_PROXY: address },
    forwardTo(origin) {
      pubring = origin
    },
    githubJob: ({ mayWriteIdToken }) => ({
      CI: 'true',
      GITHUB_ACTIONS: 'true',
      GITHUB_SHA: '0123abc',
      ...(mayWriteIdToken && {
        ACTIONS_ID_TOKEN_REQUEST_URL: `${runner}/Xy/00000000-0000-0000-0000-000000000000/_apis/distributedtask/hubs/Actions/plans/1/jobs/2/idtoken?api-version=2.0`,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: requestToken,
      }),
    }),
    /** https://docs.gitlab.com/ci/secrets/id_token_authentication */
    gitlabJob(idTokens) {
      const seconds = Math.floor(Date.now() / 1_000)
      const claims = {
        sub: 'project_path:acme/orders:ref_type:branch:ref:main',
        namespace_id: String(gitlabProject.namespace.id),
        namespace_path: 'acme',
        project_id: String(gitlabProject.id),
        project_path: gitlabProject.path_with_namespace,
        pipeline_source: 'push',
        ref: 'main',
        ref_type: 'branch',
        ref_path: 'refs/heads/main',
        ref_protected: 'true',
        jti: randomUUID(),
        iat: seconds,
        nbf: seconds - 5,
        exp: seconds + 3_600,
      }
      const tokens = Object.entries(idTokens).map(([name, aud]) => [
        name,
        mint('gitlab', { ...claims, aud }),
      ])
      return { CI: 'true', GITLAB_CI: 'true', ...Object.fromEntries(tokens) }
    },
    /** https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/ */
    projectToken(folder, { audience, path }) {
      const seconds = Math.floor(Date.now() / 1_000)
      const token = mint(
        'kubernetes',
        {
          aud: [audience],
          sub: 'system:serviceaccount:payments:orders',
          jti: randomUUID(),
          iat: seconds,
          nbf: seconds,
          exp: seconds + 600,
          'kubernetes.io': {
            namespace: 'payments',
            pod: { name: 'orders-7d9f', uid: randomUUID() },
            serviceaccount: { name: 'orders', uid: '14ee3fa4-a7e2-420f-9f9a-dbc4507c3798' },
          },
        },
        {},
      )
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, '..new'), token)
      renameSync(join(folder, '..new'), join(folder, path))
    },
    /** JWT-SVID, https://spiffe.io/docs/latest/spiffe-specs/jwt-svid/, with an `iss` as SPIRE sets it. */
    writeSvid(folder, { audience, fileName }) {
      const seconds = Math.floor(Date.now() / 1_000)
      const sub = 'spiffe://example.org/ns/payments/sa/orders'
      mkdirSync(folder, { recursive: true })
      const times = { iat: seconds, exp: seconds + 300 }
      writeFileSync(join(folder, fileName), mint('spire', { aud: [audience], sub, ...times }))
    },
    close: endLater(async () => {
      setDefaultCACertificates(trusted)
      await proxy.close()
      await server.close()
    }),
  }
}

function hostOf(url: string): string {
  return new URL(url).hostname
}

function newKey(privateKey: KeyObject, alg: JwsAlgorithm, members: object = {}) {
  const kid = randomUUID()
  return { privateKey, alg, kid, jwk: jwkOf(privateKey, { kid, alg, ...members }) }
}
