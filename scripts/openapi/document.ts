import { buildApp } from '../../packages/server/src/app.ts'
import type { Context } from '../../packages/server/src/kernel/context.ts'
import { generatedFor } from '../../packages/server/src/kernel/http/routes/docs.ts'
import { addOpenApi } from './description.ts'

/** The content of docs/openapi.json, for a server with default settings. */
export async function openApiDocument(context: Context): Promise<string> {
  const options = {
    publicUrl: generatedFor,
    trustProxy: false,
    logLevel: 'silent',
    logPretty: false,
  } as const
  const app = await buildApp(context, options, (app) => addOpenApi(app, generatedFor))
  try {
    await app.ready()
    return `${JSON.stringify(app.swagger(), null, 2)}\n`
  } finally {
    await app.close()
  }
}
