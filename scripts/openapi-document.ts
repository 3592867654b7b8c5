import type { Context } from '../src/core/context.ts'
import { buildApp } from '../src/http/app.ts'

/** The content of docs/openapi.json, for a server with default settings. */
export async function openApiDocument(context: Context): Promise<string> {
  const app = await buildApp(context, {
    publicUrl: 'http://127.0.0.1:8080',
    trustProxy: false,
    maxBodyBytes: 64 * 1024,
    logLevel: 'silent',
    logPretty: false,
  })
  try {
    await app.ready()
    return `${JSON.stringify(app.swagger(), null, 2)}\n`
  } finally {
    await app.close()
  }
}
