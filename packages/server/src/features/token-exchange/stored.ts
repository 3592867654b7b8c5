import { type RowOf, table } from '../../kernel/storage/schema.ts'

/**
 * Credentials that are accepted once, until they expire: tokens, by SHA-256 of issuer and `jti`; and
 * API keys that have registered the one key that they may, by their digest.
 */
export const usedTokenTable = table('used_token', { digest: 'key text', expire_time: 'text' }, [
  'index used_token_expiry on used_token (expire_time)',
])

declare module '../../kernel/storage/schema.ts' {
  interface Tables {
    used_token: RowOf<typeof usedTokenTable>
  }
}
