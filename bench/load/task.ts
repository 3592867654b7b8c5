/** One request, and the only answer to it that is right. */
export interface Call {
  method: string
  path: string
  headers: Record<string, string>
  body?: string
  expected: {
    status: number
    /** The octets of the body; absent where they differ from answer to answer. */
    body?: string
    /** Their number, where there is no `body`. */
    length?: number
    /** What the body must hold. */
    part?: string
  }
}

export interface LoadTask {
  port: number
  connections: number
  /** Processes whose CPU time is counted. */
  pids: number[]
  calls: Call[]
  /** How long the calls are made, again and again; absent: each is made once. */
  seconds?: number
  /** Requests per second at even distances; absent: each connection asks as soon as it is answered. */
  rate?: number
  /** Whether the bodies of the answers are wanted. */
  keepBodies?: boolean
}

export interface LoadResult {
  answered: number
  seconds: number
  /** User and system time of all the processes, in microseconds. */
  cpuMicros: number
  /** Milliseconds. With a `rate`, from the moment at which the request was due. */
  latency: { p50: number; p99: number; slowest: number }
  bodies: string[]
}

/** What the process that makes the requests says; one wrong answer spoils the run. */
export type LoadMessage = { result: LoadResult } | { spoiled: string }
