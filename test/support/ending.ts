/** The things to end after the test file, and after the test that runs. */
let ofFile = new AsyncDisposableStack()
let ofTest: AsyncDisposableStack | undefined
let running = 0

/**
 * Ends something after the test that started it, or after the file if its top level or `beforeAll`
 * did, the latest first. Returns a function that ends it earlier.
 */
export function endLater<Result>(end: () => Result): () => Result {
  return endWith(ofTest ?? ofFile, end)
}

/** Ends something after the file, whenever it was started. */
export function endAfterFile<Result>(end: () => Result): () => Result {
  return endWith(ofFile, end)
}

function endWith<Result>(stack: AsyncDisposableStack, end: () => Result): () => Result {
  let ending: { result: Result } | undefined
  const endOnce = () => {
    ending ??= { result: end() }
    return ending.result
  }
  stack.defer(async () => void (await endOnce()))
  return endOnce
}

export function beginTest(): void {
  running += 1
  ofTest ??= new AsyncDisposableStack()
}

/** Tests that run at the same time end together. */
export async function endTest(): Promise<void> {
  running -= 1
  if (running > 0) return
  const stack = ofTest
  ofTest = undefined
  await stack?.disposeAsync()
}

export async function endFile(): Promise<void> {
  const stack = ofFile
  ofFile = new AsyncDisposableStack()
  await stack.disposeAsync()
}
