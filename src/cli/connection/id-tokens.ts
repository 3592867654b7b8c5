import { clientSettings } from '../../config/client-settings.ts'
import { type Environment, readSetting } from '../../config/setting.ts'
import { decodeToken } from '../../core/tokens/decode.ts'
import { readBounded, readOr } from '../../runtime/files.ts'
import { isObject, parseJson } from '../../runtime/json.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
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

type Place = (
  env: Environment,
  audience: string,
) => { source: string; text: () => string | Promise<string> } | undefined

/** The places where a token can be, in order of precedence. */
const places: readonly Place[] = [fromVariable, fromFile, fromGitHubActions]

/** The token of the first place that has one. `audience` is for platforms that are asked for it. */
export function findIdToken(env: Environment, audience: string): IdToken | undefined {
  const found = places.values().map((place) => place(env, audience))
  const place = found.find((each) => each !== undefined)
  if (place === undefined) return undefined
  const { source, text } = place
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

function fromVariable(env: Environment): ReturnType<Place> {
  const token = readSetting(clientSettings.idToken, env, undefined)
  if (token === undefined) return undefined
  return { source: `the token in ${clientSettings.idToken.env}`, text: () => token }
}

function fromFile(env: Environment): ReturnType<Place> {
  const { env: name } = clientSettings.idTokenFile
  const path = readSetting(clientSettings.idTokenFile, env, undefined)
  if (path === undefined) return undefined
  const toError = (reason: string) => usageError(`The file ${path} named by ${name} ${reason}.`)
  const text = () => readOr(toError, () => readBounded(path)).toString('utf8')
  return { source: `the token in ${path} (${name})`, text }
}

/** Only jobs with the permission `id-token: write` have these variables. */
function fromGitHubActions(env: Environment, audience: string): ReturnType<Place> {
  const {
    ACTIONS_ID_TOKEN_REQUEST_URL: address = '',
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: secret = '',
  } = env
  const url = URL.parse(address)
  if (url === null || secret === '') return undefined
  url.searchParams.set('audience', audience)
  const source = 'the token of GitHub Actions'
  const headers = { accept: 'application/json', authorization: `Bearer ${secret}` }
  return {
    source,
    async text() {
      const answer = await fetchRemote(url, { what: 'a token', headers, timeoutMs: 10_000 })
      const document = parseJson(answer)
      if (isObject(document) && typeof document.value === 'string') return document.value
      throw unusable(source, `${url.host} sent none.`)
    },
  }
}

function unusable(source: string, reason: string): CommandError {
  return new CommandError('unauthorized', `Pubring cannot use ${source}: ${reason}`, {
    code: 'token_unavailable',
    hints: ['Nothing was sent. It must be the JWT of your platform, not an API key.'],
  })
}
