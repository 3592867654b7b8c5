export { touchCredentials } from './access/last-uses.ts'
export { acceptLedger } from './ledger/acceptance.ts'
export { tryStorage } from './storage/used-tokens.ts'
