import { createPrivateKey, hash } from 'node:crypto'
import { isIP } from 'node:net'
import { createSecureContext } from 'node:tls'
import {
  keyIdInput,
  readVerifierKey,
  signatureTypes,
  type VerifierKey,
} from '@pubring/client/internal/log/note'
import { type JwsAlgorithm, jwsAlgorithmNames } from '@pubring/intake/algorithms'
import { isApiKeySecret } from '../kernel/access/secrets.ts'
import type { Rate, Witness } from '../kernel/context.ts'
import { isPostgres } from '../kernel/storage/database-url.ts'
import { readBounded, readFirstLine, readOr } from '../runtime/files.ts'

/**
 * Parsers for `Setting.parse`. Their error messages never repeat the value. Long because it is a list.
 */

/** A parser of texts that are used as they are, without the white space around them. */
function textThat(isValid: (text: string) => boolean, fault: string) {
  return (value: string): string => {
    const trimmed = value.trim()
    if (isValid(trimmed)) return trimmed
    throw new Error(fault)
  }
}

export const text = textThat((trimmed) => trimmed !== '', 'must not be empty')

export function integer(min: number, max: number) {
  return (value: string): number => {
    const number = /^\d{1,15}$/.test(value.trim()) ? Number(value) : Number.NaN
    if (!(number >= min && number <= max)) {
      throw new Error(`must be a whole number from ${min} to ${max}`)
    }
    return number
  }
}

const secondsPerUnit: Record<string, number> = { '': 1, s: 1, m: 60, h: 3600 }

/** Seconds, from `90`, `90s`, `5m` or `1h`. */
export function seconds(min: number, max: number) {
  return (value: string): number => {
    const [, digits, unit] = /^(\d{1,9}) ?([smh]?)$/.exec(value.trim()) ?? []
    const number = Number(digits) * (secondsPerUnit[unit ?? ''] ?? Number.NaN)
    if (!(number >= min && number <= max)) {
      throw new Error(`must be a time from ${min} to ${max} seconds, such as 90, 90s, 5m or 1h`)
    }
    return number
  }
}

export function choice<Name extends string>(...names: Name[]) {
  return (value: string): Name => {
    const choice = names.find((name) => name === value.trim().toLowerCase())
    if (choice === undefined) throw new Error(`must be one of ${names.join(', ')}`)
    return choice
  }
}

/** Names of JWS algorithms, separated by commas. */
export function jwsAlgorithms(value: string): JwsAlgorithm[] {
  const listed = value.split(',').map((name) => name.trim())
  const known = jwsAlgorithmNames.filter((name) => listed.includes(name))
  if (known.length === new Set(listed).size) return known
  throw new Error(`must be names separated by commas, of ${jwsAlgorithmNames.join(', ')}`)
}

export function httpUrl(value: string): string {
  const { protocol = '', search, hash, username, password } = URL.parse(value.trim()) ?? {}
  const hasOtherParts = [search, hash, username, password].some(Boolean)
  if (!/^https?:$/.test(protocol) || hasOtherParts) {
    throw new Error(
      'must be an http or https address without user, query or fragment, such as https://keys.example.com',
    )
  }
  return value.trim().replace(/\/+$/, '')
}

/** The address of a server, which people copy from a page of its console. */
export function serverUrl(value: string): string {
  if (/\/(?:console|docs(?:\/errors)?)\/*$/.test(URL.parse(value.trim())?.pathname ?? '')) {
    throw new Error(
      'must be the address of the server: leave out /console or /docs, and all after it',
    )
  }
  return httpUrl(value)
}

/** An issuer of OpenID Connect, whose final slash counts. */
export const issuerUrl = textThat((url) => {
  const { protocol, search, hash, username } = URL.parse(url) ?? {}
  return protocol === 'https:' && !search && !hash && !username
}, 'must be an https address without user, query or fragment')

/** Scopes of OAuth, separated by spaces; `openid` is always one. */
export function scopes(value: string): string {
  const listed = value.split(/[ ,]+/).filter((one) => one !== '')
  if (listed.every((one) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(one))) {
    return [...new Set(['openid', ...listed])].join(' ')
  }
  throw new Error('must be scopes separated by spaces, such as openid profile email groups')
}

/** A parser of the names of files: the PEM in the file. `check` throws or returns false for others. */
function pemFile(check: (pem: string) => unknown, fault: string) {
  return (file: string): string => {
    const pem = readNamed(() => readBounded(file).toString('utf8'))
    try {
      if (check(pem)) return pem
    } catch {
      // The error below says the same.
    }
    throw new Error(`names a file ${fault}`)
  }
}

export const privateKey = pemFile(
  createPrivateKey,
  'without a private key in PEM, or with one that needs a passphrase',
)

export const certificates = pemFile(
  (ca) => createSecureContext({ ca }) && /-----BEGIN CERTIFICATE-----/.test(ca),
  'without certificates in PEM',
)

export function databaseUrl(value: string): string {
  const url = value.trim()
  if (isPostgres(url) || /^sqlite:(?!:memory:|\/\/[^/]).+/.test(url)) return url
  const rule =
    'must be sqlite:PATH, such as sqlite:./data/pubring.db, or postgres://USER@HOST:PORT/DATABASE'
  const found = otherDatabases.find(([pattern]) => pattern.test(url))?.[1]
  throw new Error(found === undefined ? rule : `${rule}; ${found}`)
}

/** Addresses for other programs. */
const otherDatabases: readonly [pattern: RegExp, advice: string][] = [
  [/^sqlite:\/\//, 'write the path directly after sqlite:'],
  [/^jdbc:/, 'leave out jdbc:'],
  [
    /^[\w+]*(?:mysql|mariadb|sqlserver|mssql|mongodb|oracle|redis|libsql)/,
    'no other database is supported',
  ],
  [/^(?:file:|sqlite3:|[./]|[\w-]+\.(?:db|sqlite3?)$)/, 'write sqlite: before a path'],
  [/^postgres[\w+]*:/, 'write postgres:// without the name of a driver'],
]

export const postgresUrl = textThat(isPostgres, 'must be postgres://USER@HOST:PORT/DATABASE')

export function password(value: string): string {
  if (value === '') throw new Error('must not be empty')
  return value
}

/** The path of a file with a password in its first line, which is read at each connection. */
export function passwordFile(value: string): string {
  if (firstLine(value) === '') throw new Error('names a file without a password in its first line')
  return value
}

/** Parses the first line of the file. */
export function fileWith<Value>(parse: (text: string) => Value) {
  return (value: string): Value => {
    const line = firstLine(value)
    try {
      return parse(line)
    } catch (error) {
      const reason = error instanceof Error ? error.message : error
      throw new Error(`names a file whose first line ${reason}`)
    }
  }
}

function firstLine(file: string): string {
  return readNamed(() => readFirstLine(file))
}

function readNamed(read: () => string): string {
  return readOr((reason) => new Error(`names a file that ${reason}`), read)
}

interface DatabaseValues {
  databaseUrl?: string
  databaseReplicaUrl?: string | undefined
  databasePasswordFile?: string
}

/**
 * The database URLs with the name of the password's file in them, as the parameter `password_file` or,
 * for a file in the format of libpq, `passfile`.
 */
export function withPasswordFiles(values: DatabaseValues, passfile: string | undefined) {
  const { databasePasswordFile: file, databaseReplicaUrl, databaseUrl = '' } = values
  const add = (url: string) => {
    const isComplete = !isPostgres(url) || hasPassword.test(url)
    const [name, value] = file === undefined ? ['passfile', passfile] : ['password_file', file]
    if (isComplete || value === undefined) return url
    return `${url}${url.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(value)}`
  }
  return {
    databaseUrl: add(databaseUrl),
    ...(databaseReplicaUrl === undefined ? {} : { databaseReplicaUrl: add(databaseReplicaUrl) }),
  }
}

const hasPassword = /^postgres(?:ql)?:\/\/[^@/?#]*:[^@/?#]*@|[?&](?:password_file|passfile)=/

export const apiKeySecret = textThat(
  isApiKeySecret,
  'is not an API key (pubring_ and 49 letters and digits): part of it may be missing',
)

/** `600` or `600/m` (per minute), `10/s`, `20000/h`; undefined for `off`. */
export function rate(value: string): Rate | undefined {
  if (value.trim().toLowerCase() === 'off') return undefined
  const [, digits, unit = 'm'] = /^(\d{1,9})(?: ?\/ ?([smh]))?$/.exec(value.trim()) ?? []
  const limit = Number(digits)
  if (!(limit >= 1)) {
    throw new Error('must be off or a rate, such as 600 (per minute), 10/s or 20000/h')
  }
  return { limit, window: secondsPerUnit[unit] ?? 60 }
}

/** `9464` or `0.0.0.0:9464`, with an IPv6 address in brackets. */
export function hostAndPort(value: string): { host: string; port: number } {
  const [, bracketed, host, digits] =
    /^(?:(?:\[([\da-f:]+)\]|([^\s:[\]]+)):)?(\d{1,5})$/i.exec(value.trim()) ?? []
  const port = Number(digits)
  if (port >= 1 && port <= 65_535) return { host: bracketed ?? host ?? '127.0.0.1', port }
  throw new Error('must be PORT or HOST:PORT, such as 9464 or 0.0.0.0:9464')
}

/** `false`, `true` (every client is a trusted proxy), or the addresses of the proxies. */
export function proxies(value: string): boolean | string[] {
  const listed = value.split(',').map((one) => one.trim().toLowerCase())
  if (listed[0] === 'true' || listed[0] === 'false')
    return choice('true', 'false')(value) === 'true'
  if (!listed.every(isNetwork)) {
    throw new Error(
      'must be true, false, or comma-separated addresses of proxies, such as 10.0.0.0/8,::1',
    )
  }
  return listed
}

/** Names or addresses of hosts, without ports, separated by commas. */
export function hostNames(value: string): string[] {
  const listed = value.split(',').map((one) => one.trim().toLowerCase())
  if (value.trim() === '') return []
  // As URLs have them.
  const isHost = (one: string) => URL.parse(`https://${one}/`)?.hostname === one
  if (listed.every((one) => isHost(one) && !one.includes('*'))) return listed
  if (listed.some((one) => one.includes('*'))) {
    throw new Error('must list each host by its whole name: a * stands for nothing here')
  }
  throw new Error(
    'must be names of hosts separated by commas, without https:// and ports, such as issuer.internal,10.0.0.7',
  )
}

/** Origins of web pages, separated by commas. */
export function origins(value: string): string[] {
  const listed = value.split(',').map((one) => one.trim().replace(/\/$/, ''))
  if (value.trim() === '') return []
  const isOrigin = (one: string) => /^https?:/.test(one) && URL.parse(one)?.origin === one
  if (listed.every(isOrigin)) return listed
  throw new Error(
    'must be origins separated by commas, without a path, such as https://platform.example.com',
  )
}

/** Verifier keys of witnesses, each before its address. */
export function witnesses(value: string): Witness[] {
  const words = value.split(/[\s,]+/).filter((word) => word !== '')
  const pairs = words.flatMap((word, index) => (index % 2 === 0 ? [[word, words[index + 1]]] : []))
  return pairs.map(([vkey = '', url = '']) => {
    const key = witnessKey(vkey)
    if (key !== undefined && /^https:\/\/[^/]/.test(url)) return { key, url: httpUrl(url) }
    throw new Error(
      'must be verifier keys of witnesses, each before its https address, such as witness.example/w1+1a2b3c4d+BA… https://witness.example/w1',
    )
  })
}

function witnessKey(vkey: string): VerifierKey | undefined {
  try {
    const key = readVerifierKey(vkey)
    const id = hash('sha256', keyIdInput(key)).slice(0, key.id.length)
    return id === key.id && key.type === signatureTypes.cosignature ? key : undefined
  } catch {
    return undefined
  }
}

export const proxyUrl = textThat((url) => {
  const { protocol = '', hostname = '', pathname, search } = URL.parse(url) ?? {}
  return /^https?:$/.test(protocol) && hostname !== '' && pathname === '/' && search === ''
}, 'must be the address of a proxy, such as http://proxy.internal:3128')

function isNetwork(value: string): boolean {
  const [address = '', bits, ...rest] = value.split('/')
  const maxBits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  if (bits === undefined) return maxBits > 0
  return rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= maxBits
}
