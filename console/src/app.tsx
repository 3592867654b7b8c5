import { lazy, Suspense } from 'react'
import { Route, Router, Switch } from 'wouter'
import { useHashLocation } from 'wouter/use-hash-location'
import { EmptyState } from './components/states.tsx'
import { Frame } from './frame.tsx'
import { SessionGate, useSession } from './session/context.tsx'
import { SignIn, Waiting } from './session/sign-in.tsx'

const ProjectsPage = lazy(async () => ({
  default: (await import('./pages/projects/page.tsx')).ProjectsPage,
}))
const ProjectPage = lazy(async () => ({
  default: (await import('./pages/project/page.tsx')).ProjectPage,
}))
const RotatePage = lazy(async () => ({
  default: (await import('./pages/rotate/page.tsx')).RotatePage,
}))
const ApiKeysPage = lazy(async () => ({
  default: (await import('./pages/api-keys/page.tsx')).ApiKeysPage,
}))
const LedgerPage = lazy(async () => ({
  default: (await import('./pages/ledger.tsx')).LedgerPage,
}))

/** The console: pages by the fragment of the address, which no server ever sees. */
export function App() {
  return (
    <SessionGate signInPage={(state) => <SignIn {...state} />}>
      <Router hook={useHashLocation}>
        <Frame>
          <Suspense fallback={<Waiting />}>
            <Pages />
          </Suspense>
        </Frame>
      </Router>
    </SessionGate>
  )
}

function Pages() {
  return (
    <Switch>
      <Route path="/">
        <Home />
      </Route>
      <Route path="/projects/:project/rotate/:kid">
        {({ project, kid }) => <RotatePage key={kid} project={project} oldKid={kid} />}
      </Route>
      <Route path="/projects/:project/:tab?">
        {({ project, tab }) => <ProjectPage key={project} project={project} tab={tab ?? 'keys'} />}
      </Route>
      <Route path="/api-keys">
        <ApiKeysPage />
      </Route>
      <Route path="/ledger">
        <LedgerPage />
      </Route>
      <Route>
        <EmptyState title="There is no such page">
          The address may be from another version. Begin with the projects.
        </EmptyState>
      </Route>
    </Switch>
  )
}

/** The projects, or the one that the API key is bound to. */
function Home() {
  const { self } = useSession()
  return self.projectId === undefined ? (
    <ProjectsPage />
  ) : (
    <ProjectPage project={self.projectId} tab="keys" />
  )
}
