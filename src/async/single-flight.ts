/** Runs what has the same name once at a time: whoever asks meanwhile waits for the same result. */
export function shareRuns() {
  const running = new Map<string, Promise<unknown>>()
  return <Result>(name: string, run: () => Promise<Result>): Promise<Result> => {
    const known = running.get(name)
    if (known !== undefined) return known as Promise<Result>
    const started = run().finally(() => running.delete(name))
    running.set(name, started)
    return started
  }
}
