import { Progress, Stack, Stepper, Text } from '@mantine/core'

/** The steps of a rotation, in order. */
export const steps = [
  { label: 'Register the new key', description: 'beside the old one' },
  { label: 'Wait', description: 'until verifiers know it' },
  { label: 'Switch the signer', description: 'to the new key' },
  { label: 'Switch off the old key', description: 'when its tokens are over' },
  { label: 'Delete it', description: 'when nothing needs it' },
]

/** Where a rotation stands: all steps in a row, or, where there is no room, this one. */
export function Progression({ step }: { step: number }) {
  const present = steps[step]
  return (
    <>
      <Stepper active={step} size="sm" mb="xl" visibleFrom="md">
        {steps.map(({ label }) => (
          <Stepper.Step key={label} label={label} />
        ))}
      </Stepper>
      <Stack gap={6} mb="lg" hiddenFrom="md">
        {present !== undefined && (
          <div>
            <Text size="sm" c="dimmed">
              Step {step + 1} of {steps.length}
            </Text>
            <Text fw={650} size="lg">
              {present.label}, {present.description}
            </Text>
          </div>
        )}
        <Progress value={(step / steps.length) * 100} aria-label="Steps that are done" />
      </Stack>
    </>
  )
}
