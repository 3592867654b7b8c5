/** How much is measured. */
export interface Extent {
  rounds: number
  /** Of one measurement in a round. */
  seconds: number
  /** Of one measurement at half of what is possible. */
  halfLoadSeconds: number
  /** Keys that are registered in one round. */
  ecKeys: number
  rsaKeys: number
  starts: number
  /** Seconds after which a server that nobody asks has settled. */
  settling: number
  /** Whether servers are measured that write a log line for each request. */
  logging: boolean
  revocations: number
  /** Of registering RSA-4096 keys while others list. */
  busyRounds: number
  /** Numbers of workers that are measured. */
  workers: number[]
}

export const connections = 32

export const full: Extent = {
  rounds: 10,
  seconds: 2,
  halfLoadSeconds: 2,
  ecKeys: 640,
  rsaKeys: 96,
  starts: 5,
  settling: 5,
  logging: true,
  revocations: 100,
  busyRounds: 3,
  workers: [1, 2],
}

/** To see that all of it works; the figures mean little. */
export const quick: Extent = {
  rounds: 2,
  seconds: 0.3,
  halfLoadSeconds: 0.3,
  ecKeys: 320,
  rsaKeys: 24,
  starts: 1,
  settling: 1,
  logging: false,
  revocations: 5,
  busyRounds: 0,
  workers: [1],
}
