/** One server-sent event (HTML Living Standard, section 9.2). */
export type ServerSentEvent = { id?: string; event: string; data: string }

type ParseResult = { events: ServerSentEvent[]; retryMs?: number }

/**
 * An incremental parser of `text/event-stream` that accepts chunks of any size. An incomplete event at
 * the end of the stream is dropped, as the standard requires.
 */
export function createEventParser(): (chunk: string) => ParseResult {
  let unfinishedLine = ''
  let atStart = true
  let endedWithCr = false
  let pending: { event: string; data: string[] } = { event: '', data: [] }
  let lastId: string | undefined

  function parseField(line: string, result: ParseResult): void {
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') pending.data.push(value)
    if (field === 'event') pending.event = value
    if (field === 'id' && !value.includes('\0')) lastId = value
    if (field === 'retry' && /^\d+$/.test(value)) result.retryMs = Number(value)
  }
  function dispatch(result: ParseResult): void {
    const { event, data } = pending
    pending = { event: '', data: [] }
    if (data.length === 0) return
    const id = lastId === undefined ? {} : { id: lastId }
    result.events.push({ ...id, event: event || 'message', data: data.join('\n') })
  }
  return (chunk) => {
    const result: ParseResult = { events: [] }
    if (chunk === '') return result
    let text = atStart ? chunk.replace(/^\uFEFF/, '') : chunk
    atStart = false
    // Lines end with CR, LF or CRLF, which two chunks may split.
    if (endedWithCr && text.startsWith('\n')) text = text.slice(1)
    endedWithCr = chunk.endsWith('\r')
    const lines = (unfinishedLine + text).split(/\r\n|\r|\n/)
    unfinishedLine = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') dispatch(result)
      else parseField(line, result)
    }
    return result
  }
}
