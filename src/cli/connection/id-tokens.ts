import { clientSettings } from '../../config/client-settings.ts'
import { type Environment, readSetting } from '../../config/setting.ts'
import { decodeToken } from '../../core/tokens/decode.ts'
import { isObject, parseJson } from '../../runtime/json.ts'
import { CommandError } from '../terminal/failures.ts'
import { readNamedFile } from '../terminal/files.ts'
import { fetchRemote } from './remote.ts'

/** The token that a platform gives this workload, to exchange for an API key. */
export interface IdToken {
  /** Where it is, for messages: `the token in PUBRING_ID_TOKEN`. */
  source: string
  /** The present token: platforms replace it before it expires. Throws if there is none. */
  read(): Promise<string>
  /** The claims of the last one that was read. */
  claims: Readonly<Record<string, unknown>>
}

/**
 * The token of this workload, from the first place that has one, or undefined. `audience` is for
 * platforms that are asked for a token.
 */
export function findIdToken(env: Environment, audience: string): IdToken | undefined {
  const path = readSetting(clientSettings.tokenFile, env, undefined)
  if (path !== undefined) {
    const { env: name } = clientSettings.tokenFile
    return idTokenFrom(`the token in ${path} (${name})`, () => readNamedFile(path, name))
  }
  const token = readSetting(clientSettings.idToken, env, undefined)
  if (token !== undefined) {
    return idTokenFrom(`the token in ${clientSettings.idToken.env}`, () => token)
  }
  // Only jobs of GitHub Actions with the permission `id-token: write` have both.
  const { ACTIONS_ID_TOKEN_REQUEST_URL: address = '', ACTIONS_ID_TOKEN_REQUEST_TOKEN: secret } = env
  const url = URL.parse(address)
  if (url === null || !secret) return undefined
  url.searchParams.set('audience', audience)
  return idTokenFrom('the token of GitHub Actions', () => askGitHub(url, secret))
}

function idTokenFrom(source: string, text: () => string | Promise<string>): IdToken {
  const idToken: IdToken = {
    source,
    claims: {},
    async read() {
      const decoded = decodeToken(await text())
      if ('fault' in decoded) throw unusable(source, decoded.fault)
      idToken.claims = decoded.claims
      return decoded.text
    },
  }
  return idToken
}

/** https://docs.github.com/actions/reference/openid-connect-reference */
async function askGitHub(url: URL, secret: string): Promise<string> {
  const headers = { accept: 'application/json', authorization: `Bearer ${secret}` }
  const response = await fetchRemote(url, { what: 'a token', headers, timeoutMs: 10_000 })
  const document = parseJson(response.toString())
  return isObject(document) ? String(document.value) : ''
}

function unusable(source: string, reason: string): CommandError {
  return new CommandError('unauthorized', `Pubring cannot use ${source}: ${reason}`, {
    code: 'token_unavailable',
    hints: ['Nothing was sent. It must be the JWT of your platform, not an API key.'],
  })
}
