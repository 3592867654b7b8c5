/** One server-sent event (HTML Living Standard, section 9.2). */
export type ServerSentEvent = { id?: string; event: string; data: string }

/** What a parser has found in the text so far that it was given. */
export type Found = { events: ServerSentEvent[] /** Milliseconds. */; retry?: number }

/**
 * A parser of `text/event-stream` that takes text in pieces of any size. An event that the stream
 * breaks off in is dropped, as the standard demands.
 */
export function eventParser(): (text: string) => Found {
  let rest = ''
  let first = true
  let afterReturn = false
  let pending: { event: string; data: string[] } = { event: '', data: [] }
  let lastId: string | undefined

  function take(line: string, found: Found): void {
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') pending.data.push(value)
    if (field === 'event') pending.event = value
    if (field === 'id' && !value.includes('\0')) lastId = value
    if (field === 'retry' && /^\d+$/.test(value)) found.retry = Number(value)
  }
  function dispatch(found: Found): void {
    const { event, data } = pending
    pending = { event: '', data: [] }
    if (data.length === 0) return
    const id = lastId === undefined ? {} : { id: lastId }
    found.events.push({ ...id, event: event || 'message', data: data.join('\n') })
  }
  return (text) => {
    const found: Found = { events: [] }
    let fresh = text
    if (first && fresh !== '') {
      first = false
      fresh = fresh.replace(/^\uFEFF/, '')
    }
    // A line ends with CR, LF or both, which may come apart.
    if (afterReturn && fresh.startsWith('\n')) fresh = fresh.slice(1)
    if (text !== '') afterReturn = text.endsWith('\r')
    const lines = (rest + fresh).split(/\r\n|\r|\n/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') dispatch(found)
      else take(line, found)
    }
    return found
  }
}
