/** The body of a response as text, piece by piece, as it comes; let go of where the caller stops. */
export async function* textsOf(response: Response): AsyncGenerator<string, void, undefined> {
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
