import { expectTypeOf, test } from 'vitest'
import type * as client from '../../packages/client/src/types.ts'
import type { Algorithm } from '../../packages/intake/src/algorithms.ts'
import type * as rules from '../../packages/server/src/features/access-rules/contract.ts'
import type * as apiKeys from '../../packages/server/src/features/api-keys/contract.ts'
import type { Event } from '../../packages/server/src/features/events/contract.ts'
import type { KeyImportReport } from '../../packages/server/src/features/imports/contract.ts'
import type { KeyHistory } from '../../packages/server/src/features/key-history/contract.ts'
import type * as keys from '../../packages/server/src/features/keys/contract.ts'
import type { Project } from '../../packages/server/src/features/projects/contract.ts'
import type { Discovery, Jwks } from '../../packages/server/src/features/publishing/contract.ts'
import type { Search } from '../../packages/server/src/features/search/contract.ts'
import type * as sessions from '../../packages/server/src/features/sign-in/contract.ts'
import type {
  KeyCheck,
  TokenCheck,
  TokenCheckStep,
} from '../../packages/server/src/features/token-checks/contract.ts'
import type { TokenExchangeResponse } from '../../packages/server/src/features/token-exchange/contract.ts'
import type { Problem, Role } from '../../packages/server/src/kernel/contract.ts'
import type { TokenCheckOutcome } from '../../packages/server/src/tokens/findings.ts'

// Checked by `tsc`: the generated types of the client against the types of the contract.

test('the types of responses equal the contract', () => {
  expectTypeOf<client.Algorithm>().toEqualTypeOf<Algorithm>()
  expectTypeOf<client.Role>().toEqualTypeOf<Role>()
  expectTypeOf<client.Project>().toEqualTypeOf<Project>()
  expectTypeOf<client.JwtKey>().toEqualTypeOf<keys.JwtKey>()
  expectTypeOf<client.JwtKeyWithDetails>().toEqualTypeOf<keys.JwtKeyWithDetails>()
  expectTypeOf<client.JwtKeyUpdated>().toEqualTypeOf<keys.JwtKeyUpdated>()
  expectTypeOf<client.ApiKey>().toEqualTypeOf<apiKeys.ApiKey>()
  expectTypeOf<client.ApiKeyCreated>().toEqualTypeOf<apiKeys.ApiKeyCreated>()
  expectTypeOf<client.SignInOptions>().toEqualTypeOf<sessions.SignInOptions>()
  expectTypeOf<client.Session>().toEqualTypeOf<sessions.Session>()
  expectTypeOf<client.Self>().toEqualTypeOf<sessions.Self>()
  expectTypeOf<client.Person>().toEqualTypeOf<sessions.Person>()
  expectTypeOf<client.SignedOut>().toEqualTypeOf<sessions.SignedOut>()
  expectTypeOf<client.Event>().toEqualTypeOf<Event>()
  expectTypeOf<client.Search>().toEqualTypeOf<Search>()
  expectTypeOf<client.KeyCheck>().toEqualTypeOf<KeyCheck>()
  expectTypeOf<client.KeyImportReport>().toEqualTypeOf<KeyImportReport>()
  expectTypeOf<client.TokenCheckStep>().toEqualTypeOf<TokenCheckStep>()
  expectTypeOf<client.TokenCheckOutcome>().toEqualTypeOf<TokenCheckOutcome>()
  expectTypeOf<client.TokenCheck>().toEqualTypeOf<TokenCheck>()
  expectTypeOf<client.AccessRule>().toEqualTypeOf<rules.AccessRule>()
  expectTypeOf<client.AccessRuleCheck>().toEqualTypeOf<rules.AccessRuleCheck>()
  expectTypeOf<client.TokenExchangeResponse>().toEqualTypeOf<TokenExchangeResponse>()
  expectTypeOf<client.Jwks>().toEqualTypeOf<Jwks>()
  expectTypeOf<client.KeyHistory>().toEqualTypeOf<KeyHistory>()
  expectTypeOf<client.Discovery>().toEqualTypeOf<Discovery>()
  expectTypeOf<client.Problem>().toEqualTypeOf<Problem>()
})

test('the types of requests equal the contract', () => {
  // The service accepts the label as `name` or `label`, the client only as `name`.
  type Create = Omit<keys.JwtKeyCreate, 'name' | 'label'>
  expectTypeOf<Omit<client.JwtKeyCreate, 'name'>>().toEqualTypeOf<Create>()
  expectTypeOf<client.JwtKeyCreate>().toExtend<keys.JwtKeyCreate>()
  type ImportItem = Omit<keys.KeyImportItem, 'name' | 'label'>
  expectTypeOf<Omit<client.KeyImportItem, 'name'>>().toEqualTypeOf<ImportItem>()
  expectTypeOf<client.KeyImportItem>().toExtend<keys.KeyImportItem>()
  expectTypeOf<client.JwtKeyUpdate>().toEqualTypeOf<keys.JwtKeyUpdate>()
  expectTypeOf<client.ApiKeyCreate>().toEqualTypeOf<apiKeys.ApiKeyCreate>()
  expectTypeOf<client.ApiKeyUpdate>().toEqualTypeOf<apiKeys.ApiKeyUpdate>()
  expectTypeOf<client.AccessRuleCreate>().toEqualTypeOf<rules.AccessRuleCreate>()
  expectTypeOf<client.AccessRuleUpdate>().toEqualTypeOf<rules.AccessRuleUpdate>()
  expectTypeOf<client.AccessRuleCheckRequest>().toEqualTypeOf<rules.AccessRuleCheckRequest>()
})
