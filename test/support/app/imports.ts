import { ecKey } from '../keys/pem.ts'
import type { TestApp } from './app.ts'

/** A well-formed item of an import, with a fresh key unless one is given. */
export function importItem(members: Record<string, unknown> = {}): Record<string, unknown> {
  return { name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem, ...members }
}

export function importItems(count: number): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, index) => importItem({ name: `key ${index}` }))
}

/** Imports into a project, `payments` unless another one is named. */
export function sendImport(
  server: TestApp,
  keys: unknown,
  { project = 'payments', ...body }: { project?: string; dryRun?: boolean } = {},
  headers: Record<string, string> = {},
) {
  const url = `/v1/projects/${project}/key-imports`
  return server.send('POST', url, { body: { keys, ...body }, headers })
}
