import { expectTypeOf, test } from 'vitest'
import type * as client from '../../client/src/types.ts'
import type { Algorithm } from '../../src/contract/algorithms.ts'
import type * as apiKeys from '../../src/contract/api-keys.ts'
import type { Event } from '../../src/contract/events.ts'
import type { KeyCheck } from '../../src/contract/key-checks.ts'
import type { KeyImportItem, KeyImportReport } from '../../src/contract/key-imports.ts'
import type * as keys from '../../src/contract/keys.ts'
import type { Problem } from '../../src/contract/problem.ts'
import type { Project } from '../../src/contract/projects.ts'
import type { Discovery, Jwks } from '../../src/contract/published.ts'
import type { TokenCheck, TokenCheckStep } from '../../src/contract/token-checks.ts'

/** An intersection as the one object type that it is. */
type Flat<Shape> = { [Member in keyof Shape]: Shape[Member] }

// `tsc` holds these; vitest runs them so that nobody forgets the file.

test('what the service answers is what the client says, member by member', () => {
  expectTypeOf<client.Algorithm>().toEqualTypeOf<Algorithm>()
  expectTypeOf<client.Role>().toEqualTypeOf<apiKeys.Role>()
  expectTypeOf<client.Project>().toEqualTypeOf<Project>()
  expectTypeOf<client.JwtKey>().toEqualTypeOf<keys.JwtKey>()
  expectTypeOf<Flat<client.JwtKeyWithDetails>>().toEqualTypeOf<keys.JwtKeyWithDetails>()
  expectTypeOf<client.ApiKey>().toEqualTypeOf<apiKeys.ApiKey>()
  expectTypeOf<Flat<client.ApiKeyCreated>>().toEqualTypeOf<apiKeys.ApiKeyCreated>()
  expectTypeOf<client.Event>().toEqualTypeOf<Event>()
  expectTypeOf<client.KeyCheck>().toEqualTypeOf<KeyCheck>()
  expectTypeOf<client.KeyImportReport>().toEqualTypeOf<KeyImportReport>()
  expectTypeOf<client.TokenCheckStep>().toEqualTypeOf<TokenCheckStep>()
  expectTypeOf<client.TokenCheck>().toEqualTypeOf<TokenCheck>()
  expectTypeOf<client.Jwks>().toEqualTypeOf<Jwks>()
  expectTypeOf<client.Discovery>().toEqualTypeOf<Discovery>()
  expectTypeOf<client.Problem>().toEqualTypeOf<Problem>()
})

test('what the client takes is what the service takes', () => {
  // The service takes the label under two names, the client under one.
  type Create = Omit<keys.JwtKeyCreate, 'name' | 'label'>
  expectTypeOf<Omit<client.JwtKeyCreate, 'name'>>().toEqualTypeOf<Create>()
  expectTypeOf<client.JwtKeyCreate>().toExtend<keys.JwtKeyCreate>()
  type ImportItem = Omit<KeyImportItem, 'name' | 'label'>
  expectTypeOf<Omit<client.KeyImportItem, 'name'>>().toEqualTypeOf<ImportItem>()
  expectTypeOf<client.KeyImportItem>().toExtend<KeyImportItem>()
  expectTypeOf<client.JwtKeyUpdate>().toEqualTypeOf<keys.JwtKeyUpdate>()
  expectTypeOf<client.ApiKeyCreate>().toEqualTypeOf<apiKeys.ApiKeyCreate>()
  expectTypeOf<client.ApiKeyUpdate>().toEqualTypeOf<apiKeys.ApiKeyUpdate>()
})
