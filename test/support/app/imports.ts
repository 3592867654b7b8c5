import { ecKey } from '../keys/pem.ts'
import type { TestApp } from './app.ts'

/** A valid item of an import, by default with a new key. */
export function importItem(members: Record<string, unknown> = {}): Record<string, unknown> {
  return { name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem, ...members }
}

export function importItems(count: number): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, index) => importItem({ name: `key ${index}` }))
}

/** Imports into a project, by default `payments`. */
export function sendImport(
  server: TestApp,
  keys: unknown,
  { project = 'payments', ...body }: { project?: string; dryRun?: boolean } = {},
  headers: Record<string, string> = {},
) {
  const url = `/v1/projects/${project}/key-imports`
  return server.send('POST', url, { body: { keys, ...body }, headers })
}
