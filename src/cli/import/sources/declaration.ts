import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Algorithm } from '../../../../client/src/index.ts'
import { algorithmNames } from '../../../contract/algorithms.ts'
import { isoTime, parseTimeMs } from '../../../core/times.ts'
import { didYouMean } from '../../../nearest.ts'
import { materialOf } from '../../keys/material.ts'
import { CommandError, usageError } from '../../terminal/failures.ts'
import { readBytes, sourceName } from '../../terminal/files.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { privateEntry, privateKeyCode } from './entry.ts'

/** A key as a file declares it: what it leaves out is so by default. */
export interface DeclaredKey {
  name: string
  algorithm: Algorithm
  publicKeyPem: string
  active: boolean
  /** Absent: it never expires. */
  expireTime?: string
}

/** What a file declares. */
export interface Declaration {
  /** Absent: that of the command. */
  project?: string
  keys: DeclaredKey[]
}

const members = ['name', 'algorithm', 'publicKeyPem', 'file', 'active', 'expireTime']

/** Reads a declaration. Throws a usage error that names the key at fault; nothing was sent then. */
export async function readDeclaration(file: string, terminal: Terminal): Promise<Declaration> {
  const text = (await readBytes(file, terminal)).toString('utf8')
  const document = parsed(text, sourceName(file))
  refuseUnknown(document, ['project', 'keys'], sourceName(file))
  const { project, keys } = document
  if (!Array.isArray(keys)) throw usageError(`${sourceName(file)} must have a list keys.`)
  if (project !== undefined && typeof project !== 'string') {
    throw usageError(`project in ${sourceName(file)} must be the id or the name of a project.`)
  }
  const folder = file === '-' ? '.' : dirname(file)
  return {
    ...(project === undefined ? {} : { project }),
    keys: keys.map((key, index) => readKey(key, `${sourceName(file)}, key ${index + 1}`, folder)),
  }
}

function parsed(text: string, name: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''))
    if (isObject(value)) return value
  } catch {
    // Said below.
  }
  throw usageError(
    `${name} is not a JSON object.`,
    '{"project": "payments", "keys": [{"name": "spring", "file": "spring.pem"}]}',
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function refuseUnknown(value: object, known: readonly string[], place: string): void {
  const unknown = Object.keys(value).find((name) => !known.includes(name))
  if (unknown === undefined) return
  const near = didYouMean(unknown, known, `; known are ${known.join(', ')}.`)
  throw usageError(`${place} has a member that is not known: ${unknown}${near}`)
}

function readKey(value: unknown, place: string, folder: string): DeclaredKey {
  if (!isObject(value)) throw usageError(`${place} must be an object.`)
  refuseUnknown(value, members, place)
  const { name, active = true, expireTime } = value
  if (typeof name !== 'string') throw usageError(`${place} must have a name.`)
  if (typeof active !== 'boolean') throw usageError(`active of ${place} must be true or false.`)
  const ends = typeof expireTime === 'string' ? parseTimeMs(expireTime) : undefined
  if (expireTime !== undefined && ends === undefined) {
    throw usageError(`expireTime of ${place} must be a time such as 2027-05-01T12:00:00Z.`)
  }
  const publicKeyPem = pemOf(value, place, folder)
  if (privateEntry(`${name}\n${publicKeyPem}`, place, '') !== undefined) {
    throw new CommandError('refused', `${place} is a private key. Nothing was sent.`, {
      code: privateKeyCode,
      hints: ['Declare the public half: openssl pkey -in key.pem -pubout'],
    })
  }
  const algorithm = algorithmOf(value.algorithm, publicKeyPem, place)
  const time = ends === undefined ? {} : { expireTime: isoTime(ends) }
  return { name: name.trim(), algorithm, publicKeyPem, active, ...time }
}

/** The key itself, or the file that is named, beside the declaration. */
function pemOf(value: Record<string, unknown>, place: string, folder: string): string {
  const { publicKeyPem, file } = value
  if (typeof publicKeyPem === 'string' && file === undefined) return publicKeyPem
  if (typeof file !== 'string' || publicKeyPem !== undefined) {
    throw usageError(`${place} must have either publicKeyPem or file.`)
  }
  try {
    return readFileSync(resolve(folder, file), 'utf8')
  } catch {
    throw usageError(`The file ${file} of ${place} cannot be read.`)
  }
}

function algorithmOf(given: unknown, publicKeyPem: string, place: string): Algorithm {
  const usual = materialOf(publicKeyPem)?.algorithms[0]
  const algorithm = given === undefined ? usual : algorithmNames.find((name) => name === given)
  if (algorithm !== undefined) return algorithm
  if (given === undefined) {
    throw usageError(`${place} is no public key that can be read here: give PEM.`)
  }
  const near = didYouMean(String(given), algorithmNames)
  throw usageError(`algorithm of ${place} must be one of ${algorithmNames.join(', ')}${near}`)
}
