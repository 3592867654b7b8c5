import { PubringError } from '../../../client/src/index.ts'

/** Undefined if the server answers with the code, because another run was faster, for example. */
export async function unless<Result>(
  code: string,
  request: Promise<Result>,
): Promise<Result | undefined> {
  return request.catch((error: unknown) => {
    if (!hasCode(error, code)) throw error
    return undefined
  })
}

/** Whether the server or the client failed with the code. */
export function hasCode(error: unknown, code: string): error is PubringError {
  return error instanceof PubringError && error.code === code
}
