/** A worker that ends in the middle of its work, or answers, or never does. */
export function examineInWorker({ text }: { text: string }): unknown {
  if (text.includes('die')) process.exit(3)
  if (text.includes('fill')) {
    const kept: number[][] = []
    for (;;) kept.push(new Array(100_000).fill(0))
  }
  if (text.includes('fail')) return { failure: 'key intake failed with Error' }
  if (text.includes('wait')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  return {
    verdict: { ok: false, faults: [{ code: 'pem_not_found', detail: 'x' }], normalised: [] },
  }
}
