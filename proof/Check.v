(* The checks of a table: finite, and made by computation.

   They are given a certificate: what each state means in each kind of cell, and which states can stand at rest in the
   lowest row. A wrong certificate makes a check fail; it cannot make a false theorem. *)

From Coq Require Import List Arith Bool Lia.
From Gridsum Require Import Grid Rule.
Import ListNotations.

Record certificate := Certificate {
  meaning_of : kind -> nat -> option meaning;
  ground : nat -> bool;   (* states that can stand at rest in the lowest row, but for its last column *)
  corner : nat -> bool;   (* those of its last column *)
}.

Definition term_kinds : list kind :=
  [Cell false WithDigit; Cell false WithPlus; Cell false WithNothing;
   Cell true WithDigit; Cell true WithPlus; Cell true WithNothing].

Definition same_reading (a b : option nat) : bool :=
  match a, b with Some d, Some e => d =? e | None, None => true | _, _ => false end.
Definition same_meaning (a b : meaning) : bool := (fst a =? fst b) && (snd a =? snd b).
Definition has_meaning (a : option meaning) (m : meaning) : bool :=
  match a with Some m' => same_meaning m' m | None => false end.

(* What a cell must show: it is blank if its meaning allows it and nothing stands on its left. *)
Definition wanted (R : rule) (m : meaning) (nothing_left : bool) : option nat :=
  if none R m && nothing_left then None else Some (fst m).

Section Check.

Variables (R : rule) (T : table) (C : certificate).

Definition states : list nat := seq 0 (size T).
Definition sides : list (option nat) := None :: map Some states.
Definition held : list symbol := map (fun d => Some (Digit d)) (seq 0 (base R)) ++ [Some Plus; None].

(* ---- Codes that can stand at rest in a term's row: blank ones, and numbers, which read as the digit they mean ---- *)

Definition is_blank (c : nat) : bool :=
  match reads T c with
  | None => existsb (fun k => match meaning_of C k c with Some m => none R m | None => false end) term_kinds
  | Some _ => false
  end.
Definition is_number (c : nat) : bool :=
  match reads T c with
  | None => false
  | Some d => existsb (fun k => match meaning_of C k c with Some m => fst m =? d | None => false end) term_kinds
  end.
Definition resting : list nat := filter (fun c => is_blank c || is_number c) states.

(* The same with the kinds and meanings that they have, as left neighbours of a cell. *)
Definition as_neighbour (k : kind) (c : nat) : list (nat * neighbour) :=
  match meaning_of C k c, reads T c with
  | Some m, None => if none R m then [(c, (k, m, true))] else []
  | Some m, Some d => if fst m =? d then [(c, (k, m, false))] else []
  | None, _ => []
  end.
Definition lefts : list (nat * neighbour) := flat_map (fun k => flat_map (as_neighbour k) states) term_kinds.

(* ---- The neighbours of a cell in a term's row ---- *)

(* The digit of a state below, if it can stand there. *)
Definition digit_below (first last low : bool) (b : nat) : option nat :=
  if first then if low && (if last then corner C b else ground C b) then Some 0 else None
  else if low then if negb last && is_blank b then Some 0 else None
  else if is_number b then reads T b else None.

(* Codes on the right: kind, state, meaning, and all states of that kind and meaning. *)
Definition members (k : kind) (m : meaning) : list nat := filter (fun c => has_meaning (meaning_of C k c) m) states.
Definition with_members (k : kind) (c : nat) : list (kind * nat * meaning * list nat) :=
  match meaning_of C k c with Some m => [(k, c, m, members k m)] | None => [] end.
Definition rights : list (kind * nat * meaning * list nat) :=
  flat_map (fun k => flat_map (with_members k) states) term_kinds.

(* ---- Conditions ---- *)

(* Placement writes digits, opens a row at the sign, and skips the rest. *)
Definition placement : bool :=
  forallb (fun d => match act T (Digit d) with Write => true | _ => false end) (seq 0 (base R))
  && match act T Plus with Open => true | _ => false end
  && match act T Equals with Skip => true | _ => false end
  && match act T Pad with Skip => true | _ => false end.

(* A step leads from states to states. *)
Definition closed : bool :=
  forallb (fun x => forallb (fun r => forallb (fun b =>
    let after := next T x r b in forallb (fun l => after l <? size T) sides) sides) sides) held.

(* With any left neighbour, a cell comes to mean [m]. *)
Definition digits (k : kind) (after : option nat -> nat) (m : meaning) : bool :=
  forallb (fun l => has_meaning (meaning_of C k (after l)) m) sides.

(* With these left neighbours, what follows hangs on the meaning of the right neighbour, not on its state. *)
Definition rest (after after' : option nat -> nat) (among : list (option nat)) : bool :=
  forallb (fun l => after l =? after' l) among.

Definition ground_states : list nat := filter (fun c => has_meaning (meaning_of C Ground c) (0, 0)) states.
Definition ground_lefts : list (option nat) := None :: map Some (filter (ground C) states).

(* The lowest row. *)
Definition check_ground : bool :=
  digits Ground (next T None None None) (0, 0)
  && forallb (fun l => corner C (next T None None None (Some l))) (filter (ground C) states)
  && forallb (fun r => let after := next T None (Some r) None in
       digits Ground after (0, 0)
       && forallb (fun l => ground C (after l)) ground_lefts
       && forallb (fun r' => rest after (next T None (Some r') None) ground_lefts) ground_states) ground_states.

(* A cell of a term's last column. *)
Definition check_last (rest_states : list nat) (first : bool) (k : kind) (x : symbol) (b d : nat) : bool :=
  let after := next T x None (Some b) in
  let m := value R first x d 0 in
  digits k after m
  && forallb (fun l => same_reading (reads T (after (Some l))) (Some (fst m))) rest_states.

(* Any other cell of a term's row, with one right neighbour. *)
Definition check_inner (rest_states : list nat) (left_states : list (nat * neighbour))
    (first : bool) (k : kind) (x : symbol) (b d : nat) (right : kind * nat * meaning * list nat) : bool :=
  let '(right_kind, r, right_meaning, twins) := right in
  if fits first k right_kind && beside_right R first k x right_kind right_meaning then
    let after := next T x (Some r) (Some b) in
    let m := value R first x d (snd right_meaning) in
    let border := match x with None => true | _ => false end in
    let among := (if border then [None] else []) ++ map Some rest_states in
    digits k after m
    && forallb (fun r' => (r =? r') || rest after (next T x (Some r') (Some b)) among) twins
    && if none R m then
         (if border && beside_left R k x m None then same_reading (reads T (after None)) (wanted R m true) else true)
         && forallb (fun left => let '(l, n) := left in
              if beside_left R k x m (Some n) then same_reading (reads T (after (Some l))) (wanted R m (snd n)) else true)
            left_states
       else forallb (fun l => same_reading (reads T (after l)) (Some (fst m))) among
  else true.

Definition check_terms : bool :=
  let rest_states := resting in let left_states := lefts in let right_states := rights in
  forallb (fun first => forallb (fun low => forallb (fun b =>
    match digit_below first true low b with
    | None => true
    | Some d => forallb (fun x => match shape_of x with
        | WithDigit => check_last rest_states first (Cell low WithDigit) x b d
        | _ => true end) held
    end &&
    match digit_below first false low b with
    | None => true
    | Some d => forallb (fun x =>
        forallb (check_inner rest_states left_states first (Cell low (shape_of x)) x b d) right_states) held
    end) states) [true; false]) [true; false].

Definition check : bool := placement && closed && check_ground && check_terms.

(* ---- The same, as statements ---- *)

Definition side (l : option nat) : Prop := match l with Some c => c < size T | None => True end.

(* A state stands at rest in a cell of kind k that means m. *)
Definition stands (k : kind) (m : meaning) (shows_nothing : bool) (c : nat) : Prop :=
  c < size T /\ meaning_of C k c = Some m
  /\ (if shows_nothing then reads T c = None /\ none R m = true else reads T c = Some (fst m)).

Definition last_holds (first : bool) (k : kind) (x : symbol) (b d : nat) : Prop :=
  let m := value R first x d 0 in
  (forall l, side l -> meaning_of C k (next T x None (Some b) l) = Some m)
  /\ (forall l lk lm lb, In lk term_kinds -> stands lk lm lb l ->
        reads T (next T x None (Some b) (Some l)) = Some (fst m)).

Definition inner_holds (first : bool) (k : kind) (x : symbol) (b d r : nat) (rk : kind) (rm : meaning) : Prop :=
  let m := value R first x d (snd rm) in
  (forall l, side l -> meaning_of C k (next T x (Some r) (Some b) l) = Some m)
  /\ (forall r', r' < size T -> meaning_of C rk r' = Some rm ->
        (forall l lk lm lb, In lk term_kinds -> stands lk lm lb l ->
           next T x (Some r) (Some b) (Some l) = next T x (Some r') (Some b) (Some l))
        /\ (x = None -> next T x (Some r) (Some b) None = next T x (Some r') (Some b) None))
  /\ (x = None -> beside_left R k x m None = true ->
        reads T (next T x (Some r) (Some b) None) = wanted R m true)
  /\ (forall l lk lm lb, In lk term_kinds -> stands lk lm lb l -> beside_left R k x m (Some (lk, lm, lb)) = true ->
        reads T (next T x (Some r) (Some b) (Some l)) = wanted R m lb).

Record conditions : Prop := {
  writes : forall d, d < base R -> act T (Digit d) = Write;
  opens : act T Plus = Open;
  skips : act T Equals = Skip /\ act T Pad = Skip;
  stays : forall x r b l, In x held -> side r -> side b -> side l -> next T x r b l < size T;
  ground_last : forall l, side l -> meaning_of C Ground (next T None None None l) = Some (0, 0);
  ground_corner : forall l, l < size T -> ground C l = true -> corner C (next T None None None (Some l)) = true;
  ground_inner : forall r l, r < size T -> meaning_of C Ground r = Some (0, 0) -> side l ->
    meaning_of C Ground (next T None (Some r) None l) = Some (0, 0);
  ground_rests : forall r l, r < size T -> meaning_of C Ground r = Some (0, 0) -> side l ->
    match l with Some c => ground C c = true | None => True end ->
    ground C (next T None (Some r) None l) = true
    /\ forall r', r' < size T -> meaning_of C Ground r' = Some (0, 0) ->
         next T None (Some r) None l = next T None (Some r') None l;
  last_cells : forall first low x b d, In x held -> shape_of x = WithDigit -> b < size T ->
    digit_below first true low b = Some d -> last_holds first (Cell low WithDigit) x b d;
  inner_cells : forall first low x b d r rk rm, In x held -> b < size T -> r < size T ->
    digit_below first false low b = Some d -> In rk term_kinds -> meaning_of C rk r = Some rm ->
    fits first (Cell low (shape_of x)) rk = true ->
    beside_right R first (Cell low (shape_of x)) x rk rm = true ->
    inner_holds first (Cell low (shape_of x)) x b d r rk rm;
}.

(* ---- The checks are right ---- *)

Lemma in_states : forall c, In c states <-> c < size T.
Proof. intros c. unfold states. rewrite in_seq. lia. Qed.

Lemma in_sides : forall l, In l sides <-> side l.
Proof.
  intros [c|]; unfold sides; simpl; split; auto.
  - intros [no | among]; [discriminate|]. apply in_map_iff in among as (c' & [= ->] & among). now apply in_states.
  - intros lt. right. apply in_map. now apply in_states.
Qed.

Lemma same_reading_eq : forall a b, same_reading a b = true -> a = b.
Proof. intros [a|] [b|]; simpl; try discriminate; auto. intros e. apply Nat.eqb_eq in e. now subst. Qed.

Lemma has_meaning_eq : forall a m, has_meaning a m = true <-> a = Some m.
Proof.
  intros [[d c]|] [e f]; unfold has_meaning, same_meaning; simpl; split; try discriminate.
  - rewrite andb_true_iff, !Nat.eqb_eq. intros [-> ->]. reflexivity.
  - intros [= -> ->]. now rewrite !Nat.eqb_refl.
Qed.

Lemma digits_holds : forall k after m, digits k after m = true ->
  forall l, side l -> meaning_of C k (after l) = Some m.
Proof.
  intros k after m all l ok. apply has_meaning_eq. unfold digits in all. rewrite forallb_forall in all.
  apply all. now apply in_sides.
Qed.

Lemma rest_holds : forall after after' among, rest after after' among = true ->
  forall l, In l among -> after l = after' l.
Proof.
  intros after after' among all l ok. unfold rest in all. rewrite forallb_forall in all.
  apply Nat.eqb_eq. now apply all.
Qed.

Lemma in_resting : forall l k m b, In k term_kinds -> stands k m b l -> In l resting.
Proof.
  intros l k m b among (lt & mean & read). apply filter_In. split; [now apply in_states|].
  apply orb_true_iff. destruct b.
  - left. destruct read as [read none]. unfold is_blank. rewrite read. apply existsb_exists.
    exists k. split; [assumption|]. now rewrite mean.
  - right. unfold is_number. rewrite read. apply existsb_exists. exists k. split; [assumption|].
    rewrite mean. apply Nat.eqb_refl.
Qed.

Lemma in_lefts : forall l k m b, In k term_kinds -> stands k m b l -> In (l, (k, m, b)) lefts.
Proof.
  intros l k m b among (lt & mean & read). apply in_flat_map. exists k. split; [assumption|].
  apply in_flat_map. exists l. split; [now apply in_states|]. unfold as_neighbour. rewrite mean.
  destruct b.
  - destruct read as [-> ->]. now left.
  - rewrite read, Nat.eqb_refl. now left.
Qed.

Lemma in_rights : forall k c m, In k term_kinds -> c < size T -> meaning_of C k c = Some m ->
  In (k, c, m, members k m) rights.
Proof.
  intros k c m among lt mean. apply in_flat_map. exists k. split; [assumption|].
  apply in_flat_map. exists c. split; [now apply in_states|]. unfold with_members. rewrite mean. now left.
Qed.

Lemma in_members : forall k c m, c < size T -> meaning_of C k c = Some m -> In c (members k m).
Proof.
  intros k c m lt mean. apply filter_In. split; [now apply in_states|]. now apply has_meaning_eq.
Qed.

Lemma check_last_holds : forall first k x b d, check_last resting first k x b d = true -> last_holds first k x b d.
Proof.
  intros first k x b d ok. apply andb_true_iff in ok as [means reading]. split.
  - now apply digits_holds.
  - intros l lk lm lb among stood. apply same_reading_eq. rewrite forallb_forall in reading. apply reading.
    eapply in_resting; eassumption.
Qed.

Lemma check_inner_holds : forall first k x b d r rk rm,
  check_inner resting lefts first k x b d (rk, r, rm, members rk rm) = true ->
  fits first k rk = true -> beside_right R first k x rk rm = true ->
  inner_holds first k x b d r rk rm.
Proof.
  intros first k x b d r rk rm ok fit beside. unfold check_inner in ok. rewrite fit, beside in ok.
  cbn [andb] in ok. rewrite !andb_true_iff in ok. destruct ok as [[mean rested] reading].
  rewrite forallb_forall in rested. split; [|split; [|split]].
  - now apply digits_holds.
  - intros r' lt mean'. specialize (rested r' (in_members _ _ _ lt mean')).
    apply orb_true_iff in rested as [equal | rested].
    + apply Nat.eqb_eq in equal. subst r'. now split.
    + split.
      * intros l lk lm lb among stood. apply (rest_holds _ _ _ rested). apply in_or_app. right. apply in_map.
        eapply in_resting; eassumption.
      * intros ->. apply (rest_holds _ _ _ rested). now left.
  - intros -> beside_border. unfold wanted. apply same_reading_eq. destruct (none R _) eqn:nothing.
    + apply andb_true_iff in reading as [border _]. cbn [andb] in border. rewrite beside_border in border.
      unfold wanted in border. now rewrite nothing in border.
    + rewrite forallb_forall in reading. apply reading. now left.
  - intros l lk lm lb among stood beside_it. unfold wanted. apply same_reading_eq. destruct (none R _) eqn:nothing.
    + apply andb_true_iff in reading as [_ reading]. rewrite forallb_forall in reading.
      specialize (reading _ (in_lefts _ _ _ _ among stood)). cbv beta iota zeta in reading. unfold neighbour in *.
      rewrite beside_it in reading. unfold wanted in reading. now rewrite nothing in reading.
    + rewrite forallb_forall in reading. apply reading. apply in_or_app. right. apply in_map.
      eapply in_resting; eassumption.
Qed.

Theorem check_holds : check = true -> conditions.
Proof.
  unfold check, placement, check_ground. rewrite !andb_true_iff.
  intros [[[[[[writes opens] skips] skips'] stay] [[gl gc] gr]] terms].
  rewrite forallb_forall in writes, gc, gr. unfold closed in stay. rewrite forallb_forall in stay.
  assert (inner : forall r, r < size T -> meaning_of C Ground r = Some (0, 0) -> In r ground_states).
  { intros r lt mean. apply filter_In. split; [now apply in_states | now apply has_meaning_eq]. }
  assert (term : forall first low b, b < size T ->
    (forall d x, digit_below first true low b = Some d -> In x held -> shape_of x = WithDigit ->
       check_last resting first (Cell low WithDigit) x b d = true)
    /\ (forall d x right, digit_below first false low b = Some d -> In x held -> In right rights ->
       check_inner resting lefts first (Cell low (shape_of x)) x b d right = true)).
  { intros first low b lt. unfold check_terms in terms. cbv zeta in terms. rewrite forallb_forall in terms.
    assert (one := terms first). rewrite forallb_forall in one.
    assert (two := one ltac:(destruct first; simpl; auto) low). rewrite forallb_forall in two.
    assert (three := two ltac:(destruct low; simpl; auto) b ltac:(now apply in_states)).
    apply andb_true_iff in three as [last inside]. split.
    - intros d x digit among shape. rewrite digit in last. rewrite forallb_forall in last.
      specialize (last x among). now rewrite shape in last.
    - intros d x right digit among from. rewrite digit in inside. rewrite forallb_forall in inside.
      specialize (inside x among). rewrite forallb_forall in inside. now apply inside. }
  constructor.
  - intros d lt. specialize (writes d). rewrite in_seq in writes. destruct (act T (Digit d)); auto;
      discriminate (writes ltac:(lia)).
  - destruct (act T Plus); auto; discriminate.
  - destruct (act T Equals), (act T Pad); auto; discriminate.
  - intros x r b l among sr sb sl. apply Nat.ltb_lt.
    assert (one := stay x among). rewrite forallb_forall in one.
    assert (two := one r ltac:(now apply in_sides)). rewrite forallb_forall in two.
    assert (three := two b ltac:(now apply in_sides)). cbv zeta in three. rewrite forallb_forall in three.
    apply three. now apply in_sides.
  - now apply digits_holds.
  - intros l lt on. apply gc. apply filter_In. split; [now apply in_states | assumption].
  - intros r l lt mean ok. specialize (gr r (inner r lt mean)). cbv zeta in gr. rewrite !andb_true_iff in gr.
    destruct gr as [[gr _] _]. now apply (digits_holds _ _ _ gr).
  - intros r l lt mean ok on. specialize (gr r (inner r lt mean)). cbv zeta in gr. rewrite !andb_true_iff in gr.
    destruct gr as [[_ gr] same]. rewrite forallb_forall in gr, same.
    assert (among : In l ground_lefts).
    { destruct l as [c|]; [right | now left]. apply in_map. apply filter_In. split; [now apply in_states | assumption]. }
    split; [now apply gr|]. intros r' lt' mean'. apply (rest_holds _ _ _ (same r' (inner r' lt' mean'))). assumption.
  - intros first low x b d among shape lt digit. apply check_last_holds. now apply (term first low b lt).
  - intros first low x b d r rk rm among lt lt' digit kinds mean fit beside. apply check_inner_holds; try assumption.
    apply (term first low b lt); try assumption. now apply in_rights.
Qed.

End Check.
