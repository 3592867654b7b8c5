/** The response body, unless it has more than `maxLength` characters. */
export async function readText(response: Response, maxLength: number): Promise<string | undefined> {
  let text = ''
  for await (const chunk of textChunks(response)) {
    text += chunk
    if (text.length > maxLength) return undefined
  }
  return text
}

/** The response body as decoded text, chunk by chunk. Cancels the body when the caller stops. */
export async function* textChunks(response: Response): AsyncGenerator<string, void, undefined> {
  const reader = response.body?.getReader()
  if (reader === undefined) return
  const decoder = new TextDecoder()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** The value of a JSON text; undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
