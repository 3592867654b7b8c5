const name = 'pubring.session'

/** Tells the other tabs that the session of the browser, which they share, has changed. */
export function announceSession(): void {
  const channel = new BroadcastChannel(name)
  channel.postMessage(undefined)
  channel.close()
}

/** Calls `onChange` when another tab has signed in or out. Returns what stops it. */
export function onSessionChange(onChange: () => void): () => void {
  const channel = new BroadcastChannel(name)
  channel.onmessage = onChange
  return () => channel.close()
}
