/** One request and its only acceptable response. */
export interface Call {
  method: string
  path: string
  headers: Record<string, string>
  body?: string
  expected: {
    status: number
    /** The exact body; absent where it differs from response to response. */
    body?: string
    /** Length of the body in bytes, for responses without a fixed `body`. */
    length?: number
    /** Text that the body must contain. */
    part?: string
  }
}

export interface LoadTask {
  port: number
  connections: number
  /** Processes whose CPU time is counted. */
  pids: number[]
  calls: Call[]
  /** Repeats the calls for this long. Absent: each call is sent once. */
  seconds?: number
  /** Requests per second, evenly spaced. Absent: each connection sends as soon as it is free. */
  rate?: number
  /** Whether to return the response bodies. */
  keepBodies?: boolean
}

/** Milliseconds. */
export interface Latency {
  p50: number
  p99: number
  slowest: number
}

export interface LoadResult {
  answered: number
  seconds: number
  /** User and system time of all the processes, in microseconds. */
  cpuMicros: number
  /** With a `rate` of more than 250, measured from the time at which the request was due. */
  latency: Latency
  bodies: string[]
}

/** Sent to the generator process: a task, or the end of a task that has no fixed duration. */
export type GeneratorCommand = { task: LoadTask } | { stop: true }

/** Sent by the generator process; one wrong response fails the whole run. */
export type GeneratorMessage = { result: LoadResult } | { failure: string }
